package perf

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

// TestScreen: where the text and the live view go, by terminals, options and environment.
func TestScreen(t *testing.T) {
	t.Parallel()
	var stdout, stderr strings.Builder
	file, alone := flags.OutputTargets{{Form: "json", File: "x.json"}}, flags.OutputTargets{{Form: "json", File: "-"}}
	for name, c := range map[string]struct {
		terminals, environ string // o and e: standard output and error are terminals
		targets            flags.OutputTargets
		noTUI              bool
		out, live          io.Writer
		shared             [2]bool // text and notices with the view
		color, table       bool
	}{
		"pipes":                    {"", "", nil, false, &stdout, nil, [2]bool{}, true, false},
		"terminal":                 {"oe", "", nil, false, &stdout, &stdout, [2]bool{true, true}, true, true},
		"standard error in a file": {"o", "", nil, false, &stdout, &stdout, [2]bool{true, false}, true, true},
		"standard output in a pipe": {
			"e", "", nil, false, &stdout, &stderr, [2]bool{false, true}, true, false,
		},
		"--no-tui":              {"oe", "", nil, true, &stdout, nil, [2]bool{true, true}, true, true},
		"TERM=dumb":             {"e", "TERM=dumb", nil, false, &stdout, nil, [2]bool{}, true, false},
		"NO_COLOR":              {"oe", "NO_COLOR=1", nil, false, &stdout, &stdout, [2]bool{true, true}, false, true},
		"NO_COLOR is empty":     {"oe", "NO_COLOR=", nil, false, &stdout, &stdout, [2]bool{true, true}, true, true},
		"a result in a file":    {"oe", "", file, false, &stdout, &stdout, [2]bool{true, true}, true, true},
		"a result alone":        {"oe", "", alone, false, &stderr, &stderr, [2]bool{true, true}, true, false},
		"a result alone, pipes": {"", "", alone, false, &stderr, nil, [2]bool{}, true, false},
	} {
		p := process.Process{
			Stdout: &stdout, Stderr: &stderr, Environ: strings.Fields(c.environ),
			StdoutTerminal: strings.Contains(c.terminals, "o"), StderrTerminal: strings.Contains(c.terminals, "e"),
		}
		o := newOptions()
		o.targets, o.noTUI = c.targets, c.noTUI
		s := screen(p, o)
		require.Same(t, c.out, s.Out, name)
		if c.live == nil {
			require.Nil(t, s.Live, name)
		} else {
			require.Same(t, c.live, s.Live, name)
		}
		require.Equal(t, c.shared, [2]bool{s.OutShared, s.NotesShared}, name)
		require.Equal(t, [2]bool{c.color, c.table}, [2]bool{s.Color, s.Table}, name)
	}
}
