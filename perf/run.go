package perf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"triton/perf/data"
	"triton/perf/load"
	"triton/pkg/client"
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
	server   Server // the client, if it is one
	model    *model
	set      *data.Set
	report   *Report
	progress progress
	recorder *recorder // with Config.Profile
	entries  *entries  // of mode FixedSchedule
	watcher  *watcher  // nil without Deps.Usage
	sharing  *sharing  // nil without shared memory
	sessions *sessions // of mode Sessions
	light    bool      // what Deps.OneThread was told last
	size     int       // bytes of the largest request
	repeat   int       // of the sweep, from 1; 0: there is only one
}

// Run measures a model. With an error it may return a report of the levels that
// were complete before.
func Run(ctx context.Context, c Config, d Deps) (*Report, error) {
	r := &run{settings: Settings{Config: c}, deps: d, report: &Report{}}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Profile || d.Profiled != nil {
		r.recorder = &recorder{}
	}
	defer func() {
		if r.client != nil {
			_ = r.client.Close()
		}
	}()
	if err := r.setUp(ctx); err != nil {
		if ctx.Err() != nil || !r.interrupted() {
			return nil, err
		}
		r.report.Settings, r.report.Interrupted = r.settings, true
		return r.report, nil
	}
	if err := r.share(); err != nil {
		return nil, &SetupError{What: sharingFailed, Err: err, Data: true}
	}
	defer func() {
		if err := r.sharing.close(); err != nil {
			r.notice("Unable to remove shared memory: " + err.Error())
		}
	}()
	restore, err := r.setTraces(ctx)
	if err != nil {
		return nil, err
	}
	r.report.Settings = r.settings
	r.observe(Started{Settings: r.settings, Progress: r.progress.snapshot})
	r.watcher = watch(d)
	err = r.sweeps(ctx)
	r.watcher.close()
	r.setLight(false)
	restore()
	r.observe(Finished{r.report})
	return r.report, err
}

// setUp connects and prepares the run. The interrupt ends it too: there is no load to wait for.
func (r *run) setUp(ctx context.Context) error {
	ctx, stop := r.untilInterrupt(ctx)
	defer stop()
	if err := r.connect(ctx); err != nil {
		return err
	}
	return r.prepare(ctx)
}

// untilInterrupt returns a context that the interrupt ends too. stop must be called.
func (r *run) untilInterrupt(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-r.deps.Interrupt:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		watch.Wait()
	}
}

// answerTime is how long the server may take to describe a model.
const answerTime = 30 * time.Second

// ask asks the server something within answerTime.
func (r *run) ask(ctx context.Context, question func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := question(limited)
	if err == nil || ctx.Err() != nil || limited.Err() == nil {
		return err
	}
	silent := fmt.Errorf("the server did not answer within %s", answerTime)
	if setup := (*SetupError)(nil); errors.As(err, &setup) {
		return &SetupError{What: setup.What, Err: silent, Data: setup.Data}
	}
	return silent
}

func (r *run) connect(ctx context.Context) error {
	c, err := r.deps.Dial(ctx)
	if err != nil {
		return &SetupError{What: "failed to create triton client backend", Err: err}
	}
	r.client = c
	r.settings.Protocol = c.Protocol().String()
	if e, ok := c.(Embedded); ok && e.Embedded() {
		r.settings.Protocol = ""
	}
	return nil
}

// prepare reads the model's description and the input data.
func (r *run) prepare(ctx context.Context) error {
	if err := r.ask(ctx, r.discover); err != nil {
		return err
	}
	r.settings.MaxBatchSize = r.model.maxBatch
	r.settings.Ensemble, r.settings.Sequence, r.settings.Decoupled = r.model.ensemble, r.model.sequence, r.model.decoupled
	r.settings.TopCache = r.model.cached[r.model.signature.Model]
	r.settings.Cache = r.model.anyCache()
	if err := r.checkModel(); err != nil {
		return &SetupError{Err: err}
	}
	r.settings.StopWhen = r.settings.goalsWithFigures() // checkModel has decided Async
	if err := r.loadData(); err != nil {
		return &SetupError{What: "Failed to init manager inputs", Err: err, Data: true}
	}
	if r.set.FromFiles {
		r.observe(DataRead{len(r.set.Streams), len(r.set.Streams[0])})
	}
	if r.server == nil {
		return nil
	}
	err := r.ask(ctx, func(ctx context.Context) error {
		meta, err := r.server.ServerMetadata(ctx)
		if err != nil {
			return &SetupError{What: "unable to get server metadata", Err: err}
		}
		r.settings.ServerStats = slices.Contains(meta.GetExtensions(), "statistics")
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := r.serverSnapshot(ctx); errors.Is(err, client.ErrDenied) { // other errors are those of the first window
		r.settings.ServerStats = false
		r.warn("the server's part of the latency is not measured: %v", err)
	}
	return nil
}

// checkModel compares the configuration of the run with the model, and sets Async: requests of sequences
// and of streams are asynchronous calls unless the user asks for synchronous ones.
func (r *run) checkModel() error {
	s := &r.settings
	batch := slices.Max(s.Batches)
	if r.model.maxBatch == 0 && batch > 1 {
		return errors.New("can not specify batch size > 1 as the model does not support batching")
	}
	if limit := r.model.maxBatch; limit > 0 && batch > limit {
		return fmt.Errorf("batch size %d is larger than max_batch_size %d of model %s", batch, limit, r.model.signature.Model)
	}
	if err := r.checkSchedule(); err != nil {
		return err
	}
	if r.model.sequence {
		if batch > 1 {
			return errors.New("can not specify batch size > 1 when using a sequence model")
		}
		s.Async = !s.Sync
	}
	if s.Streaming {
		if s.Sync {
			return errors.New("can not use streaming with synchronous API")
		}
		s.Async = true
	}
	if r.model.decoupled && !s.Streaming {
		return errors.New("Decoupled models must be run with `--async` and `--streaming` and either `-i grpc` or `--service-kind=triton_c_api`")
	}
	switch {
	case s.Mode.Rate():
		if s.Sequences.IDCount < uint64(s.Sequences.Slots) {
			return errors.New("sequence id range specified is smaller than the maximum possible number of sequences, sequence id collision may occur.")
		}
	case !r.model.sequence:
	case s.Async && s.Range.Highest() == 0:
		return errors.New("The 'end' concurrency can not be 0 for sequence models when using asynchronous API.")
	case float64(s.Sequences.IDCount) < s.Range.Highest():
		return errors.New("sequence id range specified is smaller than the maximum possible concurrency, sequence id collision may occur.")
	}
	return nil
}

// sweeps measures the sweep as often as Config.Repeats says.
func (r *run) sweeps(ctx context.Context) error {
	if r.settings.Repeats <= 1 {
		return r.sweep(ctx)
	}
	for r.repeat = 1; r.repeat <= r.settings.Repeats; r.repeat++ {
		r.observe(RepeatStarted{Repeat: r.repeat})
		if err := r.sweep(ctx); err != nil || r.report.Interrupted {
			return err
		}
	}
	r.judgeRepeats()
	r.noteOthers()
	return nil
}

// sweep measures every batch size at the levels of the range.
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
	preparing, stop := r.untilInterrupt(ctx)
	requests, err := r.prepareRequests(preparing, batch)
	stop()
	defer r.release(ctx, requests)
	switch {
	case err != nil && ctx.Err() == nil && r.interrupted():
		r.report.Interrupted = true
		return nil
	case err != nil:
		return setupError("Failed to init manager inputs", err)
	}
	r.size = requests.size
	gen := r.newGenerator(ctx, requests)
	defer gen.Close()
	return r.loadError(ctx, gen, r.search(ctx, gen, batch))
}

// loadError adds the failures of the workers to an error.
func (r *run) loadError(ctx context.Context, gen load.Generator, err error) error {
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

// await waits until done receives, a worker fails or the run is interrupted. An interrupt is no error:
// the caller asks interrupted.
func (r *run) await(ctx context.Context, gen load.Generator, done <-chan struct{}) error {
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
