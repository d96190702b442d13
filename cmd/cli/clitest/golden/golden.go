// Package golden compares sections of the documents with the program's flags, metrics and
// rules, and rewrites them with the flag -update. It is for tests.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files and the sections of documents")

// Update reports whether golden files shall be written instead of compared.
func Update() bool { return *update }

// Section compares the part of a file between the line <!-- name: ... --> and the line
// <!-- end of name --> with want.
func Section(t testing.TB, file, name, want string) {
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
	if Update() {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text))
}

// Cell returns a text as a cell of a Markdown table.
func Cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "`<", ">", ">`").Replace(text)
}
