package perf

import (
	"cmp"
	"errors"
	"strings"

	"triton/perf"
	"triton/pkg/client"
)

// finish sets the fields that depend on several options, and checks the options together.
func (o *options) finish() error {
	c := &o.config
	if o.client.Address == "" {
		o.client.Address = "localhost:8000"
		if o.client.Protocol == client.GRPC {
			o.client.Address = "localhost:8001"
		}
	}
	if c.RequestCount > 0 {
		c.Windows, c.Samples = perf.CountWindows, c.RequestCount
	}
	if err := o.check(); err != nil {
		return err
	}
	if c.CollectMetrics && c.MetricsURL == "" {
		c.MetricsURL = metricsURL(o.client.Address)
	}
	o.applyMaxThreads()
	return nil
}

// check returns the first contradiction, in perf_analyzer's order.
func (o *options) check() error {
	c, r := &o.config, o.config.Concurrency
	binary := c.Search == perf.Binary
	for _, wrong := range []struct {
		violated bool
		text     string
	}{
		{c.Model == "", "Failed to parse -m (model name). The value must be specified."},
		{r.Start <= 0, "The start of the search range must be > 0"},
		{o.zeroInputs && o.dataDirectory, "The -z flag cannot be set when --data-directory is provided."},
		{c.Async && c.Sync, "Cannot specify --async and --sync simultaneously."},
		{r.End == 0 && c.LatencyLimit == 0, "The end of the search range and the latency limit can not be both 0 (or 0.0) simultaneously"},
		{binary && r.End == 0, "The end of the range can not be 0 (or 0.0) for binary search mode."},
		{binary && c.LatencyLimit == 0, "The --latency-threshold cannot be 0 for binary search mode."},
		{binary && r.End < r.Start, "The end of the range can not be less than start of the range for binary search mode."},
		{c.WarmupCount > 0 && r.Start < r.End, "--warmup-request-count not supported with multiple concurrency values in one run"},
		{c.RequestCount > 0 && c.RequestCount < r.Start, "--request-count can not be less than concurrency"},
		{c.RequestCount > 0 && r.Start < r.End, "--request-count not supported with multiple concurrency values in one run"},
		{c.MetricsURL != "" && !c.CollectMetrics, "Must specify --collect-metrics when using the --metrics-url option."},
		{o.metricsInterval && !c.CollectMetrics, "Must specify --collect-metrics when using the --metrics-interval option."},
		{r.Step == 0 && r.End > r.Start, "The step of --concurrency-range must be > 0 when its end is above its start."},
	} {
		if wrong.violated {
			return errors.New(wrong.text)
		}
	}
	return nil
}

// applyMaxThreads warns as perf_analyzer does about its thread count: synchronous calls need
// as many threads as concurrent requests.
func (o *options) applyMaxThreads() {
	c := &o.config
	switch {
	case c.Async:
	case c.Concurrency.End == 0:
		o.warnings = append(o.warnings, "WARNING: The maximum attainable concurrency will be limited by max_threads specification.")
		c.Concurrency.End = max(cmp.Or(o.maxThreads, 16), c.Concurrency.Start)
	case o.maxThreads > 0:
		o.warnings = append(o.warnings, "WARNING: Overriding max_threads specification to ensure requested concurrency range.")
	}
}

// metricsURL returns the address of the metrics on the host that serves.
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
