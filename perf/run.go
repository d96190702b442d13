package perf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"triton/perf/data"
	"triton/perf/load"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
)

// LoadError ends a run because requests failed.
type LoadError struct {
	Err      error
	Failures []load.Failure
}

func (e *LoadError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// run is the state of one call of Run.
type run struct {
	settings Settings
	deps     Deps
	client   Target
	model    *model
	set      *data.Set
	report   *Report
	progress progress
}

// Run measures a model. With an error it may return a report of the levels that
// were complete before.
func Run(ctx context.Context, c Config, d Deps) (*Report, error) {
	r := &run{settings: Settings{Config: c}, deps: d, report: &Report{}}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	defer func() { _ = r.client.Close() }()
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	r.report.Settings = r.settings
	r.observe(Started{Settings: r.settings, Progress: r.progress.snapshot})
	err := r.sweep(ctx)
	r.observe(Finished{r.report})
	return r.report, err
}

func (c *Config) validate() error {
	switch {
	case c.Model == "":
		return errors.New("perf: no model is named")
	case len(c.Batches) == 0 || slices.Min(c.Batches) < 1:
		return errors.New("perf: batch sizes must be > 0")
	case c.Concurrency.Start < 1:
		return errors.New("The start of the search range must be > 0")
	case c.Concurrency.Step < 1 && c.Concurrency.End > c.Concurrency.Start:
		return errors.New("The step of the search range must be > 0")
	case c.Concurrency.End == 0 && c.LatencyLimit == 0:
		return errors.New("The end of the search range and the latency limit can not be both 0 (or 0.0) simultaneously")
	case c.MaxTrials < 1, c.Interval <= 0, c.Samples < 1, c.Stability < 0:
		return errors.New("perf: trials, interval and samples must be > 0, stability must be >= 0")
	}
	return nil
}

func (r *run) connect(ctx context.Context) error {
	c, err := r.deps.Dial(ctx)
	if err != nil {
		return &SetupError{What: "failed to create triton client backend", Err: err}
	}
	r.client = c
	r.settings.Protocol = c.Protocol().String()
	return nil
}

// prepare reads the model's description and the input data.
func (r *run) prepare(ctx context.Context) error {
	var err error
	if r.model, err = discover(ctx, r.client, r.settings.Model, r.settings.Version); err != nil {
		return err
	}
	r.settings.MaxBatchSize = r.model.maxBatch
	r.settings.Ensemble = r.model.ensemble
	r.settings.TopCache = r.model.cached[r.model.signature.Model]
	r.settings.Cache = r.model.anyCache()
	if r.model.maxBatch == 0 && slices.Max(r.settings.Batches) > 1 {
		return &SetupError{Err: errors.New("can not specify batch size > 1 as the model does not support batching")}
	}
	if r.set, err = data.Load(r.settings.Data, r.model.signature); err != nil {
		return &SetupError{What: "Failed to init manager inputs", Err: err, Data: true}
	}
	if r.set.FromFiles {
		r.observe(DataRead{len(r.set.Streams), len(r.set.Streams[0])})
	}
	meta, err := r.client.ServerMetadata(ctx)
	if err != nil {
		return &SetupError{What: "unable to get server metadata", Err: err}
	}
	r.settings.ServerStats = slices.Contains(meta.GetExtensions(), "statistics")
	return nil
}

// sweep measures every batch size over the range of concurrencies.
func (r *run) sweep(ctx context.Context) error {
	for _, batch := range r.settings.Batches {
		if len(r.settings.Batches) > 1 {
			r.observe(BatchStarted{batch})
		}
		if err := r.sweepBatch(ctx, batch); err != nil {
			return err
		}
		if r.report.Interrupted {
			return nil
		}
	}
	return nil
}

func (r *run) sweepBatch(ctx context.Context, batch int) error {
	requests, err := r.requests(batch)
	defer func() {
		for _, p := range requests.Prepared {
			p.Release()
		}
	}()
	if err != nil {
		return &SetupError{What: "Failed to init manager inputs", Err: err, Data: true}
	}
	gen := load.New(ctx, r.client, requests, r.settings.Live)
	defer gen.Close()
	if err := r.warmUp(ctx, gen); err != nil {
		return r.loadError(ctx, gen, err)
	}
	return r.loadError(ctx, gen, r.search(ctx, gen, batch))
}

// loadError adds the failures of the workers to an error.
func (r *run) loadError(ctx context.Context, gen *load.Generator, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, load.ErrLoad) {
		// Requests in flight may fail as well, and their errors are reported too.
		ctx, cancel := context.WithTimeout(ctx, failureWait)
		defer cancel()
		_ = gen.Drain(ctx)
	}
	return &LoadError{err, gen.Failures()}
}

// failureWait is how long a failed run waits for requests in flight.
const failureWait = time.Second

// requests encodes the request of every step once. The caller releases them,
// also after an error.
func (r *run) requests(batch int) (load.Requests, error) {
	out := load.Requests{Batch: batch}
	for k := range r.set.Steps() {
		req, err := r.set.Request(k, batch)
		if err != nil {
			return out, err
		}
		req.EmptyFinal = r.client.Protocol() == client.GRPC
		p, err := r.client.Prepare(req)
		if err != nil {
			return out, err
		}
		out.Prepared = append(out.Prepared, p)
	}
	if r.set.HasExpected() {
		out.Check = func(step int, x *lane.Exchange) error {
			var resp kserve.Response
			defer resp.Reset()
			if err := r.client.Decode(x, &resp); err != nil {
				return err
			}
			return r.set.Check(&resp, step, batch)
		}
	}
	return out, nil
}

// warmUp sends the warm-up requests, which no level counts.
func (r *run) warmUp(ctx context.Context, gen *load.Generator) error {
	n := r.settings.WarmupCount
	if n == 0 {
		return nil
	}
	concurrency := r.settings.Concurrency.Start
	if concurrency > n {
		r.notice("WARNING: The number of concurrent requests exceeds the warmup request count. Adjusting warmup concurrency to match the warmup request count.")
		concurrency = n
	}
	done := gen.SetQuota(concurrency, n)
	r.observe(LevelStarted{Batch: r.settings.Batches[0], Concurrency: concurrency})
	return r.await(ctx, gen, done)
}

// await waits until done receives, a worker fails or the run is interrupted.
func (r *run) await(ctx context.Context, gen *load.Generator, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-gen.Failed():
		return gen.Err()
	case <-r.deps.Interrupt:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stopped: %w", ctx.Err())
	}
}

func (r *run) observe(e Event) {
	if r.deps.Observer != nil {
		r.deps.Observer.Observe(e)
	}
}

func (r *run) notice(text string) { r.observe(Notice{text}) }
