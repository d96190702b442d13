package analyze

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/analyzer/bench"
	"triton/analyzer/memory"
	"triton/perf"
	"triton/pkg/client"
	"triton/pkg/client/lane"
)

// loader is the load generator of perf.
type loader struct {
	load   perf.Config
	client client.Options
	quick  bool // slow loads are measured by a number of requests
}

// enough requests are in windows that agree if the load is steady.
const enough = 60

// Measure runs one level of perf. Windows that are too short for the model are made longer,
// because windows with a few requests never agree, and those of a machine that stalls have none.
func (l loader) Measure(ctx context.Context, at bench.Endpoints, model string, load memory.Load) (memory.Measurement, error) {
	const longest = 10 * time.Second
	c := l.config(model, load)
	if l.quick {
		c = l.counted(ctx, at, c)
	}
	for {
		m, err := l.run(ctx, at, c)
		short := errors.Is(err, perf.ErrNoRequests) || errors.Is(err, perf.ErrNoExecutions) || err == nil && !m.Stable && m.Requests < enough
		if !short || c.Interval >= longest || ctx.Err() != nil {
			if err != nil {
				return memory.Measurement{}, loadFailure(err)
			}
			return measurement(m, c.RequestCount > 0), nil
		}
		c.Interval = min(4*c.Interval, longest)
	}
}

// counted returns the configuration of a level that ends after a number of requests, if windows would have too few of
// them to agree soon. How long a request takes is learned by sending one on each connection.
func (l loader) counted(ctx context.Context, at bench.Endpoints, c perf.Config) perf.Config {
	n := int(c.Range.Start)
	m, err := l.run(ctx, at, withCount(c, n))
	if err != nil || time.Duration(n)*c.Interval >= enough*m.MaxLatency {
		return c
	}
	return withCount(c, n*max(quickRounds, int(quickTime/m.MaxLatency)))
}

// withCount returns the configuration of a level that ends after a number of requests.
func withCount(c perf.Config, requests int) perf.Config {
	c.Windows, c.Samples, c.RequestCount = perf.CountWindows, requests, requests
	return c
}

func measurement(l perf.Level, count bool) memory.Measurement {
	m := memory.Measurement{
		Requests: l.Requests, Throughput: l.Throughput, Stable: l.Stable,
		Avg: l.AvgLatency, P50: l.Latency(50), P90: l.Latency(90), P95: l.Latency(95), P99: l.Latency(99),
	}
	if i := l.ThroughputInterval; i.Known() {
		m.Low, m.High = i.Low, i.High
	}
	// Of a number of requests, a connection always has one in flight, so that the throughput is known as well as the mean
	// latency (J. Little, A proof for the queuing formula L = λW, Operations Research 9, 1961). Requests that end together,
	// as those of a batch, make the counts of short times vary.
	if mean := float64(l.AvgLatency); count && l.AvgInterval.Known() {
		m.Low, m.High = l.Throughput*mean/l.AvgInterval.High, l.Throughput*mean/l.AvgInterval.Low
	}
	if s := l.Server; s != nil && s.Queue.Count > 0 && s.Executions > 0 {
		m.Queue = time.Duration(s.Queue.Ns / s.Queue.Count)
		m.Rows = float64(s.Inferences) / float64(s.Executions)
	}
	return m
}

// Exercise runs one level of perf that ends after a number of requests.
func (l loader) Exercise(ctx context.Context, at bench.Endpoints, model string, load memory.Load, requests int) error {
	if _, err := l.run(ctx, at, withCount(l.config(model, load), requests)); err != nil {
		return loadFailure(err)
	}
	return nil
}

func (l loader) config(model string, load memory.Load) perf.Config {
	c := l.load
	c.Model, c.Batches = model, []int{load.Batch}
	n := float64(load.Concurrency)
	c.Range = perf.Range{Start: n, End: n, Step: 1}
	return c
}

// run runs perf once and returns its only level.
func (l loader) run(ctx context.Context, at bench.Endpoints, c perf.Config) (perf.Level, error) {
	options := l.client
	options.Address = at.HTTP
	if options.Protocol == client.GRPC {
		options.Address = at.GRPC
	}
	rep, err := perf.Run(ctx, c, perf.Deps{
		Dial: func(context.Context) (perf.Target, error) { return perf.Connect(lane.Options{Options: options}) },
	})
	if err != nil {
		return perf.Level{}, err
	}
	for _, level := range append(rep.Levels, rep.Failed...) {
		return level, nil
	}
	return perf.Level{}, perf.ErrNoRequests
}

// loadFailure returns the server's error if that error made the load fail, and err
// otherwise.
func loadFailure(err error) error {
	var load *perf.LoadError
	if errors.As(err, &load) && len(load.Failures) > 0 {
		return load.Failures[0].Err
	}
	var setup *perf.SetupError
	if errors.As(err, &setup) && setup.Data {
		return fmt.Errorf("%w (analyze takes --shape NAME:D1,D2 and --input-data)", err)
	}
	return err
}
