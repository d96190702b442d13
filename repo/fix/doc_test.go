package fix_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo/fix"
)

// TestDocument compares the table of corrections in docs/repo.md with the rules that have some.
func TestDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "repo.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "### Corrections\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n### ")
	documented := regexp.MustCompile(`TRN\d{3}`).FindAllString(section, -1)
	slices.Sort(documented)
	require.Equal(t, fix.Rules(), documented)
}
