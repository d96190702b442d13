package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo/lint"
)

// TestEveryRuleIsDocumented compares the tables of docs/rules.md with Rules: every
// rule once, in order, with its severity and text, and a way to correct the mistake.
func TestEveryRuleIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "rules.md"))
	require.NoError(t, err)
	var documented []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| TRN") {
			continue
		}
		require.Len(t, cells, 4, line)
		require.NotEmpty(t, strings.Trim(cells[3], " |\n"), "how to mend it: %s", line)
		documented = append(documented, strings.Join(cells[:3], " | "))
	}
	var rules []string
	for _, r := range lint.Rules() {
		rules = append(rules, "| "+r.ID+" | "+r.Severity.String()+" | "+r.Doc)
	}
	require.Equal(t, rules, documented)
}
