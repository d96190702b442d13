package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHostileInputTable checks that the tests exist that docs/security.md names.
func TestHostileInputTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("`([a-z0-9/]+): ((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(rows), 25)
	for _, r := range rows {
		files, err := filepath.Glob(filepath.Join("../..", r[1], "*_test.go"))
		require.NoError(t, err)
		declared := regexp.MustCompile(`(?m)^func ` + r[2] + `\(`)
		found := false
		for _, f := range files {
			source, err := os.ReadFile(f)
			require.NoError(t, err)
			found = found || declared.Match(source)
		}
		require.True(t, found, "%s has no %s", r[1], r[2])
	}
}
