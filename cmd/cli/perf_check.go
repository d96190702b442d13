package cli

import (
	"cmp"
	"errors"
	"strings"

	"triton/perf"
	"triton/pkg/client"
)

// finish derives what depends on several options and checks them together.
func (s *perfSettings) finish() error {
	c := &s.config
	if s.client.Address == "" {
		s.client.Address = "localhost:8000"
		if s.client.Protocol == client.GRPC {
			s.client.Address = "localhost:8001"
		}
	}
	if c.RequestCount > 0 {
		c.Windows, c.Samples = perf.CountWindows, c.RequestCount
	}
	if err := s.check(); err != nil {
		return err
	}
	if c.CollectMetrics && c.MetricsURL == "" {
		c.MetricsURL = metricsURL(s.client.Address)
	}
	s.threads()
	return nil
}

// check looks for contradictions, in perf_analyzer's order.
func (s *perfSettings) check() error {
	c, r := &s.config, s.config.Concurrency
	binary := c.Search == perf.Binary
	for _, wrong := range []struct {
		is   bool
		text string
	}{
		{c.Model == "", "Failed to parse -m (model name). The value must be specified."},
		{r.Start <= 0, "The start of the search range must be > 0"},
		{s.zero && s.dataDir, "The -z flag cannot be set when --data-directory is provided."},
		{c.Async && c.Sync, "Cannot specify --async and --sync simultaneously."},
		{r.End == 0 && c.LatencyLimit == 0, "The end of the search range and the latency limit can not be both 0 (or 0.0) simultaneously"},
		{binary && r.End == 0, "The end of the range can not be 0 (or 0.0) for binary search mode."},
		{binary && c.LatencyLimit == 0, "The --latency-threshold cannot be 0 for binary search mode."},
		{binary && r.End < r.Start, "The end of the range can not be less than start of the range for binary search mode."},
		{c.WarmupCount > 0 && r.Start < r.End, "--warmup-request-count not supported with multiple concurrency values in one run"},
		{c.RequestCount > 0 && c.RequestCount < r.Start, "--request-count can not be less than concurrency"},
		{c.RequestCount > 0 && r.Start < r.End, "--request-count not supported with multiple concurrency values in one run"},
		{c.MetricsURL != "" && !c.CollectMetrics, "Must specify --collect-metrics when using the --metrics-url option."},
		{s.metricsInterval && !c.CollectMetrics, "Must specify --collect-metrics when using the --metrics-interval option."},
		{r.Step == 0 && r.End > r.Start, "The step of --concurrency-range must be > 0 when its end is above its start."},
	} {
		if wrong.is {
			return errors.New(wrong.text)
		}
	}
	return nil
}

// threads does what perf_analyzer does to its thread count: as many as
// concurrent requests when calls are synchronous.
func (s *perfSettings) threads() {
	c := &s.config
	switch {
	case c.Async:
	case c.Concurrency.End == 0:
		s.warnings = append(s.warnings, "WARNING: The maximum attainable concurrency will be limited by max_threads specification.")
		c.Concurrency.End = max(cmp.Or(s.maxThreads, 16), c.Concurrency.Start)
	case s.maxThreads > 0:
		s.warnings = append(s.warnings, "WARNING: Overriding max_threads specification to ensure requested concurrency range.")
	}
}

// metricsURL is the metrics port of the host that serves.
func metricsURL(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	address, _, _ = strings.Cut(address, "/")
	if i := strings.LastIndexByte(address, ':'); i >= 0 && !strings.HasSuffix(address, "]") {
		address = address[:i]
	}
	return address + ":8002/metrics"
}
