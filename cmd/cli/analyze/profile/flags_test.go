package profile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/cmd/cli/analyze/profile"
	"triton/cmd/cli/process"
)

// TestFlagsOfModelAnalyzer: testdata/flags.txt has the flags in the help of Model Analyzer 1.58.0. All of
// them exist, with the same letters.
func TestFlagsOfModelAnalyzer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/flags.txt")
	require.NoError(t, err)
	commands := map[string]*cobra.Command{}
	for _, c := range profile.NewModelAnalyzer(process.Process{}).Commands() {
		commands[c.Name()] = c
	}
	count := 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		name, letter := strings.TrimPrefix(fields[len(fields)-1], "--"), ""
		if len(fields) == 3 {
			letter = strings.TrimPrefix(fields[1], "-")
		}
		f := commands[fields[0]].Flags().Lookup(name)
		if assert.NotNil(t, f, line) {
			assert.Equal(t, letter, f.Shorthand, line)
			count++
		}
	}
	assert.Equal(t, 156, count)
}
