package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
)

// TestErrorsAsTriton runs the command lines whose errors were recorded from Triton 2.51, and
// expects exit code 1 and the same text. It ignores blanks at the ends of lines, the usage
// before the error, the log, and the values of a flag that we list.
func TestErrorsAsTriton(t *testing.T) {
	t.Parallel()
	compareConsoles(t, "tritonserver_errors.txt", 100, nil, func(l string) bool { return !logLine(l) })
}

// TestWarningsAsTriton does the same with deprecated flags and their
// warnings. Those of our own, about flags without effect, do not count.
func TestWarningsAsTriton(t *testing.T) {
	t.Parallel()
	compareConsoles(t, "tritonserver_warnings.txt", 15, []string{"--model-repository=/none"}, func(l string) bool {
		return strings.HasPrefix(l, "Warning:") && !strings.Contains(l, "has no effect")
	})
}

// compareConsoles runs the command lines of a file and compares the lines of the
// console that count.
func compareConsoles(t *testing.T, file string, least int, more []string, counts func(string) bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	cases := strings.Split("\n"+string(text), "\n$ ")[1:]
	require.Greater(t, len(cases), least)
	for _, c := range cases {
		line, want, _ := strings.Cut(c, "\n")
		args := append(append([]string{"tritonserver"}, more...), strings.Fields(line)...)
		code, _, errs := clitest.Run(t, nil, args...)
		assert.Equal(t, 1, code, line)
		var got []string
		for l := range strings.Lines(errs) {
			if l = strings.TrimRight(strings.TrimPrefix(l, "triton: "), " \n"); l != "" && counts(l) {
				l, _, _ = strings.Cut(l, ": use one of ")
				got = append(got, l)
			}
		}
		assert.Equal(t, strings.TrimSpace(want), strings.Join(got, "\n"), line)
	}
}

// logLine reports whether a line belongs to the log.
func logLine(l string) bool {
	return len(l) > 5 && strings.Contains("EWI", l[:1]) && l[1] >= '0' && l[1] <= '9'
}
