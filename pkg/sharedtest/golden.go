package sharedtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files and the sections of documents")

// UpdateGolden reports whether golden files shall be written instead of compared.
func UpdateGolden() bool { return *update }

// GoldenFile compares a file below testdata with what was got.
func GoldenFile(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if UpdateGolden() {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, file)
}

// GoldenSection compares the part of a file between the line <!-- name: ... --> and the line
// <!-- end of name --> with want.
func GoldenSection(t testing.TB, file, name, want string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), "<!-- "+name+": ")
	require.True(t, ok, "%s has no section %q", file, name)
	comment, rest, ok := strings.Cut(rest, "\n")
	require.True(t, ok)
	end := "<!-- end of " + name + " -->"
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has no line %q", file, end)
	want = before + "<!-- " + name + ": " + comment + "\n\n" + want + "\n" + end + after
	if UpdateGolden() {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text))
}

// GoldenCell returns a text as a cell of a Markdown table.
func GoldenCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "`<", ">", ">`").Replace(text)
}
