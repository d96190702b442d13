package perf

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
	"triton/perf"
)

// TestExitRule is the table of docs/perf.md.
func TestExitRule(t *testing.T) {
	t.Parallel()
	level := func(change func(*perf.Level)) *perf.Report {
		l := perf.Level{Stable: true}
		l.Requests = 9
		change(&l)
		r := &perf.Report{Unstable: !l.Stable}
		if l.Stable && !l.OverLimit {
			r.Levels = []perf.Level{l}
		} else {
			r.Failed = []perf.Level{l}
		}
		return r
	}
	good := level(func(*perf.Level) {})
	shaky := level(func(l *perf.Level) { l.Stable = false })
	over := level(func(l *perf.Level) { l.OverLimit = true })
	late := level(func(l *perf.Level) { l.Late = "all of them" })
	limited := level(func(l *perf.Level) { l.ClientLimit = "it is busy" })
	for _, c := range []struct {
		name, failOn string
		report       *perf.Report
		err          error
		want         int
	}{
		{"measured", "", good, nil, 0},
		{"not stable", "", shaky, nil, 2},
		{"not stable, accepted", "none", shaky, nil, 0},
		{"not stable, other condition", "late", shaky, nil, 0},
		{"over the threshold", "", over, nil, 2},
		{"over the threshold is no condition", "none", over, nil, 2},
		{"late, accepted", "", late, nil, 0},
		{"late", "unstable,late", late, nil, 2},
		{"limited by the client", "late", limited, nil, 2},
		{"no request", "none", good, perf.ErrNoRequests, 3},
		{"failure", "none", good, errors.New("no luck"), 99},
		{"interrupted", "unstable", &perf.Report{Interrupted: true, Unstable: true}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := newOptions()
			if c.failOn != "" {
				require.NoError(t, o.setFailOn(c.failOn))
			}
			var errs bytes.Buffer
			err := exitResult(process.Process{Stderr: &errs}, o, c.report, c.err)
			if c.want == 0 {
				require.NoError(t, err)
				return
			}
			require.Equal(t, &process.ExitError{Code: c.want}, err)
		})
	}
}

func TestStopWhen(t *testing.T) {
	t.Parallel()
	goals := func(text string) []perf.Goal {
		o := newOptions()
		require.NoError(t, o.setStopWhen(text))
		return o.config.StopWhen
	}
	require.Equal(t, []perf.Goal{{Width: 0.05}}, goals("ci < 5%"), "of the figures that decide stability")
	require.Equal(t, []perf.Goal{{Figure: "p99", Width: 0.1}, {Figure: "avg", Width: 0.025}}, goals("ci(p99)<10%, ci(avg)<2.5%"))
	o := newOptions()
	require.NoError(t, o.setStopWhen("ci(throughput)<5%, throughput<1234.5"))
	require.Equal(t, []perf.Goal{{Figure: "throughput", Width: 0.05}}, o.config.StopWhen)
	require.InDelta(t, 1234.5, o.config.StopBelow, 0)
	require.ErrorContains(t, o.setStopWhen("throughput<1000"), "Add a goal for the others")
	require.Error(t, o.setStopWhen("ci<5%,throughput<0"))
}
