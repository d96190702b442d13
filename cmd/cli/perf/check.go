package perf

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"triton/perf"
	"triton/pkg/client"
)

// finish sets the fields that depend on several options, and checks the options together.
func (o *options) finish() error {
	c := &o.config
	o.setAddress()
	if o.deprecatedMode {
		c.Mode = perf.Concurrency
	}
	if err := o.checkInputs(); err != nil {
		return err
	}
	if c.RequestCount > 0 {
		c.Windows, c.Samples = perf.CountWindows, c.RequestCount
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := o.connectSecurely(); err != nil {
		return err
	}
	if err := o.checkFiles(); err != nil {
		return err
	}
	if c.CollectMetrics && c.MetricsURL == "" {
		c.MetricsURL = metricsURL(o.client.Address)
	}
	o.applyMaxThreads()
	o.checkTensors()
	c.Range = o.concurrency
	switch c.Mode {
	case perf.RequestRate:
		c.Range = o.rate
	case perf.Periodic, perf.Sessions:
		c.Range = o.onceRange
	}
	return nil
}

// check returns the first contradiction, in perf_analyzer's order.
func (o *options) check() error {
	c := &o.config
	level, rate := o.concurrency, o.rate
	binary := c.Search == perf.Binary
	concurrency, rates := c.Mode == perf.Concurrency, c.Mode == perf.RequestRate
	for _, wrong := range []struct {
		violated bool
		text     string
	}{
		{c.Model == "", "Failed to parse -m (model name). The value must be specified."},
		{lowest(level) <= 0, perf.ErrRangeStart.Error()},
		{lowest(rate) <= 0, "Failed to parse --request-rate-range. The start of the search range must be > 0."},
		{c.Streaming && o.client.Protocol != client.GRPC && c.ServiceKind != tritonCAPI, "Streaming is only allowed with gRPC protocol and Triton C API."},
		{o.compressionGiven && o.client.Protocol != client.GRPC, "Using compression algorithm is only allowed with gRPC protocol."},
		{c.Sequences.Variation < 0, "Failed to parse --sequence-length-variation. The value must be >= 0.0."},
		{o.zeroInputs && o.dataDirectory, "The -z flag cannot be set when --data-directory is provided."},
		{c.Async && c.Sync, "Cannot specify --async and --sync simultaneously."},
		{len(c.Parameters) > 0 && o.client.Protocol != client.GRPC && c.ServiceKind != tritonCAPI, "The --request-parameter option is currently only supported by gRPC protocol."},
		{(level.End == 0 || rate.End == 0) && c.LatencyLimit == 0, perf.ErrRangeEnd.Error()},
		{binary && (level.End == 0 || rate.End == 0), "The end of the range can not be 0 (or 0.0) for binary search mode."},
		{binary && (level.List != nil || rate.List != nil), "--binary-search needs a range <start:end>, not a list of levels."},
		{binary && c.LatencyLimit == 0, "The --latency-threshold cannot be 0 for binary search mode."},
		{binary && (level.End < level.Start || rate.End < rate.Start), "The end of the range can not be less than start of the range for binary search mode."},
		{c.RequestCount > 0 && concurrency && float64(c.RequestCount) < level.Start, "--request-count can not be less than concurrency"},
		{c.RequestCount > 0 && concurrency && severalLevels(level), "--request-count not supported with multiple concurrency values in one run"},
		{c.RequestCount > 0 && rates && c.RequestCount < int(rate.Start), "--request-count can not be less than request rate"},
		{c.RequestCount > 0 && rates && severalLevels(rate), "--request-count not supported with multiple request rate values in one run"},
		{c.RequestCount > 0 && len(c.StopWhen) > 0, "Cannot specify --request-count and --stop-when simultaneously: both say when a level ends."},
		{c.Windows == perf.CountWindows && len(c.StopWhen) > 0, "Cannot specify --measurement-mode count_windows and --stop-when simultaneously: both say when a level ends."},
		{c.Mode.Once() && len(c.StopWhen) > 0, "--stop-when is for loads without an end, not for --fixed-schedule, --periodic-concurrency-range and --session-concurrency."},
		{c.Repeats > 1 && c.Mode.Once(), "--repeat is not for --fixed-schedule, --periodic-concurrency-range and --session-concurrency: their requests are sent once."},
		{c.Repeats > 1 && binary, "Cannot specify --repeat and --binary-search simultaneously: each repeat would search other levels. Name them: --concurrency-range 1,4,16."},
		{c.Repeats > 1 && (concurrency && level.End == 0 || rates && rate.End == 0), "--repeat needs a range with an end: without one each repeat would visit other levels. Name the end, or the levels: --concurrency-range 1,4,16."},
		{c.MetricsURL != "" && !c.CollectMetrics, "Must specify --collect-metrics when using the --metrics-url option."},
		{o.metricsInterval && !c.CollectMetrics, "Must specify --collect-metrics when using the --metrics-interval option."},
		{level.Step <= 0 && severalLevels(level) && level.List == nil, "The step of --concurrency-range must be > 0 when its end is above its start."},
		{rate.Step <= 0 && severalLevels(rate) && rate.List == nil, "The step of --request-rate-range must be > 0 when its end is above its start."},
	} {
		if wrong.violated {
			return errors.New(wrong.text)
		}
	}
	if err := o.checkOnce(); err != nil {
		return err
	}
	return o.checkService()
}

// lowest returns the lowest level that a range names.
func lowest(r perf.Range) float64 {
	if len(r.List) > 0 {
		return slices.Min(r.List)
	}
	return r.Start
}

// severalLevels reports whether a range has more than one level.
func severalLevels(r perf.Range) bool { return len(r.List) > 1 || r.Start < r.End }

// applyMaxThreads warns as perf_analyzer does about its thread count: synchronous calls need
// as many threads as concurrent requests.
func (o *options) applyMaxThreads() {
	c := &o.config
	switch {
	case c.Async || c.Mode != perf.Concurrency:
	case o.concurrency.End == 0:
		o.warn("WARNING: The maximum attainable concurrency will be limited by max_threads specification.")
		o.concurrency.End = max(float64(cmp.Or(o.maxThreads, 16)), o.concurrency.Start)
	case o.maxThreads > 0:
		o.warn("WARNING: Overriding max_threads specification to ensure requested concurrency range.")
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
