package analyzer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"triton/analyzer/search"
	"triton/pkg/inferencepb"
)

// ErrNothingMeasured reports an analysis without measurements and wraps the reason;
// ErrNoServer is the reason if the first server did not start.
var (
	ErrNothingMeasured = errors.New("nothing was measured")
	ErrNoServer        = errors.New("the server did not start")
)

// run is a running analysis.
type run struct {
	Config
	Deps
	subject *subject
	shared  *inferencepb.ModelConfig
	meter   *meter
	dir     string // of the temporary repositories
	result  *Result
}

// Run analyzes a model. Its servers have ended when it returns. If the context
// ends, the result has the measurements so far and Interrupted; the error is nil if
// there are any.
func Run(ctx context.Context, c Config, d Deps) (*Result, error) {
	result := &Result{Model: c.Model, Started: time.Now(), Source: NoSource, Recommended: -1}
	if err := c.Validate(); err != nil {
		return result, err
	}
	if d.Observe == nil {
		d.Observe = func(Event) {}
	}
	r := &run{Config: c, Deps: d, result: result}
	if err := r.prepare(); err != nil {
		return result, err
	}
	defer os.RemoveAll(r.dir)
	err := r.measure(ctx)
	if ctx.Err() != nil {
		result.Interrupted, err = true, nil
	}
	r.conclude()
	if err == nil && len(result.Points) == 0 {
		err = r.nothingMeasured(ctx)
	}
	return result, err
}

// nothingMeasured returns the error of an analysis without a point.
func (r *run) nothingMeasured(ctx context.Context) error {
	for _, v := range r.result.Variants {
		if v.Err != nil && ctx.Err() == nil { // not caused by the interrupt
			return fmt.Errorf("%w: %w", ErrNothingMeasured, v.Err)
		}
	}
	return fmt.Errorf("%w: %w", ErrNothingMeasured, context.Cause(ctx))
}

func (r *run) prepare() (err error) {
	if r.subject, err = findSubject(r.Model, r.Repositories); err != nil {
		return err
	}
	if r.shared, r.result.Warnings, err = r.subject.sharedConfig(r.Space.Batches); err != nil {
		return err
	}
	r.result.Batch = largestBatch(r.shared, r.Space.Batches)
	r.meter = newMeter(r.Host, r.GPU)
	r.dir, err = os.MkdirTemp(r.TempDir, "triton-analyze-")
	return err
}

// measure starts a server without models and then one server per instance count,
// in rising order, until one fails.
func (r *run) measure(ctx context.Context) error {
	if err := r.measureBase(ctx); err != nil {
		return fmt.Errorf("measure a server without models: %w", err)
	}
	for _, count := range r.Space.Counts() {
		v := r.measureCount(ctx, count)
		r.result.Variants = append(r.result.Variants, v)
		if ctx.Err() != nil {
			return nil
		}
		if v.Err != nil {
			r.Observe(GaveUp{count, v.Err})
			return nil
		}
	}
	return nil
}

// measureBase reads the memory of a server with an empty repository.
func (r *run) measureBase(ctx context.Context) error {
	r.Observe(Launching{})
	dir := filepath.Join(r.dir, "empty")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	server, err := r.Launcher.Launch(ctx, Setup{Repository: dir})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	r.result.Base = r.read(server)
	return server.Close()
}

func (r *run) read(s Server) Memory { return r.meter.read(r.Host.Tree(s.PID())) }

// measureCount measures a server with a number of instances.
func (r *run) measureCount(ctx context.Context, count int) (v Variant) {
	v.Instances = count
	r.Observe(Launching{count})
	dir := filepath.Join(r.dir, strconv.Itoa(count))
	if v.Err = r.subject.overlay(dir, variantConfig(r.shared, count)); v.Err != nil {
		return v
	}
	server, err := r.Launcher.Launch(ctx, Setup{Repository: dir, Model: r.Model})
	if err != nil {
		v.Err = fmt.Errorf("instance count %d: %w: %w", count, ErrNoServer, err)
		return v
	}
	running, end := whileRunning(ctx, server)
	w := newWatch(running, r.Interval, func() Memory { return r.read(server) })
	v.Loaded = w.now()
	switch done := r.measureLoads(running, server, w, count); {
	case done && r.allFailed(count):
		v.Err = fmt.Errorf("instance count %d: every load failed", count)
	case done:
		v.Complete = r.exercise(running, server, w, count)
	}
	w.close()
	v.Peak = w.mu.peak
	end()
	if server.Err() != nil {
		v.Err = fmt.Errorf("instance count %d: ended under load: %w", count, server.Err())
	}
	if err := server.Close(); err != nil && v.Err == nil {
		v.Err = fmt.Errorf("instance count %d: %w", count, err)
	}
	return v
}

// measureLoads measures all loads on one server and reports whether it was not
// interrupted. Failed loads are points too.
func (r *run) measureLoads(ctx context.Context, s Server, w *watch, count int) bool {
	for _, load := range r.Space.Loads() {
		p := Point{Instances: count, Load: load}
		p.Measurement, p.Err = r.Loader.Measure(ctx, s.Endpoints(), r.Model, load)
		if ctx.Err() != nil {
			return false // an interrupted load gives no point
		}
		p.Memory = w.now()
		r.result.Points = append(r.result.Points, p)
		r.Observe(Measured{p})
	}
	return true
}

// allFailed reports whether every load on the server with a number of instances
// failed.
func (r *run) allFailed(count int) bool {
	for _, p := range r.result.Points {
		if p.Instances == count && p.Err == nil {
			return false
		}
	}
	return true
}

// exercise makes all instances of a server execute their largest batch at once,
// which the measured loads may not do: a batcher may have merged their requests,
// and instances allocate memory when they first execute. It comes last, because
// servers keep the memory that they have allocated.
func (r *run) exercise(ctx context.Context, s Server, w *watch, count int) bool {
	r.Observe(Exercising{count, r.result.Batch})
	load := search.Load{Batch: r.result.Batch, Concurrency: 2 * count}
	err := r.Loader.Exercise(ctx, s.Endpoints(), r.Model, load, 2*load.Concurrency)
	w.now()
	if err != nil && ctx.Err() == nil {
		r.warn("instance count %d: the memory while all instances execute is not known: %v", count, err)
	}
	return err == nil
}

// whileRunning returns a context that ends with the server. end releases it.
func whileRunning(ctx context.Context, s Server) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.Done():
			cancel(s.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}
