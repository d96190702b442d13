package report

import (
	"fmt"
	"strings"

	"triton/perf"
	"triton/pkg/ui"
)

// start writes the settings.
func (c *Console) start() {
	s := c.settings
	c.printf("*** Measurement Settings ***\n")
	if s.ServiceKind == "triton" || s.Batching {
		c.printf("  Batch size: %s\n", formatSizes(s.Batches))
	}
	c.printf("  Service Kind: %s\n", serviceName(s.ServiceKind))
	if n := s.WarmupCount; n > 0 {
		c.printf("  Sending %s\n", ui.Plural(n, "warmup request"))
	}
	if n := s.RequestCount; n > 0 {
		c.printf("  Sending %s\n", ui.Plural(n, "benchmark request"))
	} else {
		c.windows()
	}
	c.limits()
	if s.Search == perf.Binary {
		c.printf("  Using Binary Search algorithm\n")
	}
	if s.Repeats > 1 {
		c.printf("  Measuring the whole sweep %d times, one after the other\n", s.Repeats)
	}
	if s.Async {
		c.printf("  Using asynchronous calls for inference\n")
	} else {
		c.printf("  Using synchronous calls for inference\n")
	}
	if c.verbose && s.Seed != 0 {
		c.printf("  Random seed: %d\n", s.Seed)
	}
	if s.Decoupled {
		c.printf("  Detected decoupled model, using the first response for measuring latency\n")
	}
	c.printf("\n")
}

// serviceName returns the name of a kind of server in the settings.
func serviceName(kind string) string {
	if kind == "tfserving" {
		return "TENSORFLOW_SERVING"
	}
	return strings.ToUpper(kind)
}

// limits writes the ends of the sweep.
func (c *Console) limits() {
	s := c.settings
	if s.Range.EndGiven() && !s.Mode.Once() {
		c.printf("  Latency limit: %g msec\n", float64(s.LatencyLimit.Microseconds())/1000)
		limit := s.Range.Highest()
		switch {
		case limit == 0:
		case s.Mode == perf.Concurrency:
			c.printf("  Concurrency limit: %.6g concurrent requests\n", limit)
		default:
			c.printf("  Request Rate limit: %.6g requests per seconds\n", limit)
		}
	}
	switch {
	case s.Mode != perf.RequestRate:
	case s.Distribution == perf.Poisson:
		c.printf("  Using poisson distribution on request generation\n")
	default:
		c.printf("  Using uniform distribution on request generation\n")
	}
}

// windows writes what ends a level.
func (c *Console) windows() {
	s := c.settings
	if len(s.StopWhen) > 0 {
		c.goals()
		return
	}
	mode := "time_windows"
	if s.Windows == perf.CountWindows {
		mode = "count_windows"
	}
	c.printf("  Using %q mode for stabilization\n", mode)
	latency := "average "
	if s.Percentile > 0 {
		latency = fmt.Sprintf("p%g", s.Percentile) // no blank behind it, as in the original
	}
	if !s.Async {
		latency += "latency and "
	}
	c.printf("  Stabilizing using %sthroughput\n", latency)
	if s.Windows == perf.CountWindows {
		c.printf("  Minimum number of samples in each window: %d\n", s.Samples)
		return
	}
	c.printf("  Measurement window: %d msec\n", s.Interval.Milliseconds())
}

// goals writes what ends a level with --stop-when, in place of the windows.
func (c *Console) goals() {
	s := c.settings
	var all []string
	for _, g := range s.StopWhen {
		all = append(all, fmt.Sprintf("%s %.3g%%", g.Figure, 100*g.Width))
	}
	c.printf("  Measuring until the 95%% confidence intervals are within: %s\n", strings.Join(all, ", "))
	if s.StopBelow > 0 {
		c.printf("  Ending a level that is below %g infer/sec with confidence\n", s.StopBelow)
	}
	c.printf("  Time limit of a level: %.3g sec\n", s.LevelLimit().Seconds())
}
