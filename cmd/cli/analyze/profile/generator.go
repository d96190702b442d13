package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"triton/analyzer/bench"
	"triton/analyzer/trial"
	perfcmd "triton/cmd/cli/perf"
	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/llm"
)

// generator is `triton perf` in this process.
type generator struct {
	process process.Process
	output  io.Writer // receives the notices of measurements; may be nil
}

var _ bench.Generator = generator{}

// Run measures models at the same time.
func (g generator) Run(ctx context.Context, models []bench.LoadOptions) []bench.Outcome {
	out := make([]bench.Outcome, len(models))
	runs := make([]*perfcmd.Run, len(models))
	for i, o := range models {
		var err error
		if runs[i], err = perfcmd.ParseRun(g.process, arguments(o)); err != nil {
			out[i].Err = err
			return out
		}
	}
	for i, ended := range perfcmd.MeasureRuns(ctx, runs) {
		out[i] = outcome(ended, models[i].Precise())
		if g.output != nil {
			fmt.Fprintf(g.output, "perf %s\n%s", strings.Join(arguments(models[i]), " "), ended.Notices)
		}
	}
	return out
}

// arguments returns the command line of a model: without the files of a report, and without the metrics
// of the server, which the profile reads itself.
func arguments(o bench.LoadOptions) []string {
	o = o.Clone()
	for _, name := range []string{
		"latency-report-file", "verbose-csv", "verbose", "extra-verbose", "collect-metrics", "metrics-url", "metrics-interval",
	} {
		o.Set(name)
	}
	return o.Args()
}

// outcome converts the end of a run. With precise, a measurement counts whose confidence intervals are
// wider than was asked for.
func outcome(o perfcmd.Outcome, precise bool) bench.Outcome {
	out := bench.Outcome{Output: o.Notices, Err: o.Err}
	var level *perf.Level
	if o.Report != nil {
		if all := o.Report.All(); len(all) > 0 {
			level = all[0]
		}
	}
	switch {
	case o.Err != nil:
		out.Err = cause(o.Err)
		out.Unsettled = errors.Is(o.Err, perf.ErrNoRequests) || errors.Is(o.Err, perf.ErrNoExecutions)
	case level == nil:
		out.Err, out.Unsettled = perf.ErrNoRequests, true
	case !level.Stable && !precise:
		out.Err, out.Unsettled = errors.New("failed to obtain a stable measurement"), true
	default:
		out.Figures = figures(level)
		addTokens(out.Values, o.LLM)
	}
	return out
}

// cause returns the server's error if that error made the load fail.
func cause(err error) error {
	var failed *perf.LoadError
	if errors.As(err, &failed) && len(failed.Failures) > 0 {
		return failed.Failures[0].Err
	}
	return err
}

func figures(l *perf.Level) bench.Figures {
	v := trial.Values{
		trial.Throughput:     l.Throughput,
		trial.LatencyAvg:     ms(l.AvgLatency),
		trial.LatencyP90:     ms(l.Latency(90)),
		trial.LatencyP95:     ms(l.Latency(95)),
		trial.LatencyP99:     ms(l.Latency(99)),
		trial.ClientSendRecv: ms(l.Client.Send + l.Client.Receive),
		trial.ClientWait:     ms(l.Client.Request - l.Client.Send - l.Client.Receive),
	}
	if l.Server != nil {
		addServer(v, l.Server)
	}
	f := bench.Figures{Values: v, Requests: l.Requests, Stable: l.Stable, Confidence: map[trial.Metric]trial.Interval{}}
	addInterval(f.Confidence, trial.Throughput, l.ThroughputInterval, 1)
	addInterval(f.Confidence, trial.LatencyAvg, l.AvgInterval, float64(time.Millisecond))
	for _, p := range l.Percentiles {
		tag := trial.Metric("perf_latency_p" + strconv.FormatFloat(p.P, 'g', -1, 64))
		if _, known := v[tag]; known {
			addInterval(f.Confidence, tag, p.Interval, float64(time.Millisecond))
		}
	}
	return f
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// addInterval adds an interval that is known. JSON cannot express the others.
func addInterval(to map[trial.Metric]trial.Interval, tag trial.Metric, i perf.Interval, unit float64) {
	if i.Known() {
		to[tag] = trial.Interval{Low: i.Low / unit, High: i.High / unit}
	}
}

// addServer adds the server's own times, means of a request. Those of an ensemble are the sums over
// its models.
func addServer(v trial.Values, s *perf.ServerStats) {
	if s.Ensemble && len(s.Composing) > 0 {
		for i := range s.Composing {
			addServer(v, &s.Composing[i])
		}
		return
	}
	for tag, d := range map[trial.Metric]perf.Statistic{
		trial.ServerQueue: s.Queue, trial.ServerInput: s.ComputeInput, trial.ServerInfer: s.ComputeInfer, trial.ServerOutput: s.ComputeOutput,
	} {
		if d.Count > 0 {
			v[tag] += float64(d.Ns) / float64(d.Count) / float64(time.Millisecond)
		}
	}
}

// addTokens adds the metrics of a language model, in milliseconds and tokens per second.
func addTokens(v trial.Values, m *llm.Metrics) {
	if m == nil {
		return
	}
	for _, d := range m.PerRequest {
		if d.Name != "time_to_first_token" && d.Name != "inter_token_latency" {
			continue
		}
		s := &d.Values
		for suffix, x := range map[string]float64{"avg": s.Mean, "min": s.Min, "max": s.Max} {
			v[trial.Metric(d.Name+"_"+suffix)] = x
		}
		for _, p := range []float64{25, 50, 75, 90, 95, 99} {
			v[trial.Metric(d.Name+"_p"+strconv.FormatFloat(p, 'g', -1, 64))] = s.Of(p)
		}
	}
	for _, t := range m.Totals {
		if strings.EqualFold(t.Name, string(trial.OutputThroughput)) {
			v[trial.OutputThroughput] = t.Value
		}
	}
}
