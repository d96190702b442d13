package perf

import (
	"context"
	"io"
	"strings"
	"sync"

	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/llm"
	"triton/perf/load"
	"triton/pkg/client"
	measurement "triton/pkg/measure"
)

// Run is a measurement of one model for another command of this program.
type Run struct {
	options *options
	process process.Process
}

// Outcome is the end of a Run. The report has levels also with an error, if there are any.
type Outcome struct {
	Report  *perf.Report
	LLM     *llm.Metrics // of the first level, with --llm
	Notices string       // one a line
	Err     error
}

// ParseRun reads the options of a measurement. They come from the arguments alone, not from the
// environment.
func ParseRun(p process.Process, args []string) (*Run, error) {
	o := newOptions()
	typed, _, err := getopt(o.flags(p), args)
	if err != nil {
		return nil, err
	}
	for _, a := range typed {
		if err := a.Flag.Value.Set(a.Text); err != nil {
			return nil, err
		}
	}
	if err := o.finish(); err != nil {
		return nil, err
	}
	return &Run{o, p}, nil
}

// Client returns the options of the connection to the server.
func (r *Run) Client() client.Options { return r.options.client }

// MeasureRuns measures models at the same time, every window under the load of all of them, and
// returns their outcomes in the order of the runs. If one fails the others end.
func MeasureRuns(ctx context.Context, runs []*Run) []Outcome {
	defer load.RelaxCollector()()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := newTogether(io.Discard, len(runs))
	outcomes := make([]Outcome, len(runs))
	var all sync.WaitGroup
	for i, r := range runs {
		all.Go(func() {
			defer t.leave()
			outcomes[i] = r.measure(ctx, t)
			if outcomes[i].Err != nil {
				cancel()
			}
		})
	}
	all.Wait()
	return outcomes
}

func (r *Run) measure(ctx context.Context, t *together) Outcome {
	o := r.options
	var out Outcome
	notices := &noticeObserver{}
	out.Report, out.Err = perf.Run(ctx, o.config, perf.Deps{
		Dial:     o.dial(r.process),
		Profiled: o.profiled(),
		Observer: &levelObserver{ctx, t, notices},
		Alarm:    load.PreciseAlarm,
		Usage:    measurement.ReadUsage,
	})
	out.Notices = notices.text.String()
	if len(o.llm.levels) > 0 {
		out.LLM = o.llm.levels[0].Metrics
	}
	return out
}

// noticeObserver keeps the notices of a run.
type noticeObserver struct{ text strings.Builder }

func (n *noticeObserver) Observe(e perf.Event) {
	switch e := e.(type) {
	case perf.Notice:
		n.text.WriteString(e.Text + "\n")
	case perf.Warning:
		n.text.WriteString(e.Text + "\n")
	}
}
