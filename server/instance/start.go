package instance

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"

	"golang.org/x/sync/errgroup"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

// maxParallelLoads bounds how many instances are created at the same time.
const maxParallelLoads = 4

// Start creates the instances, warms them up and starts their goroutines. When one
// instance cannot be created, all are closed, and the model too.
func (g *Group) Start(ctx context.Context) error {
	if len(g.members.workers) == 0 {
		return errors.Join(status.New(status.InvalidArg,
			"model '%s' has passive instances only: none of them takes requests", g.opts.Name), g.closeAll())
	}
	g.running.Store(int64(len(g.members.workers)))
	g.goroutines.Store(int64(len(g.members.workers)))
	if err := g.create(ctx, g.members.all()); err != nil {
		return errors.Join(err, g.closeAll())
	}
	for _, w := range g.members.workers {
		g.begin(w)
	}
	return nil
}

// create creates the instances of workers, several at the same time.
func (g *Group) create(ctx context.Context, all []*worker) error {
	making, ctx := errgroup.WithContext(ctx)
	making.SetLimit(maxParallelLoads)
	for _, w := range all {
		making.Go(func() error { return g.newInstance(ctx, w) })
	}
	return making.Wait()
}

// begin lets a worker serve, whose instance is created and warmed up.
func (g *Group) begin(w *worker) {
	w.setState(Ready, "")
	g.watch(w)
	go g.serve(w)
}

// newInstance creates an instance and warms it up; a panic of the backend becomes an error.
func (g *Group) newInstance(ctx context.Context, w *worker) (err error) {
	defer g.containStart(w, &err)
	if err := g.bind(ctx, w); err != nil {
		return err
	}
	var created backend.Instance
	w.call(func() {
		defer g.containStart(w, &err)
		created, err = g.opts.Model.NewInstance(ctx, w.at)
	})
	if err != nil {
		return err // without the instance's name, as in Triton
	}
	if created == nil {
		return status.New(status.Internal, "the backend of model '%s' made no instance", g.opts.Name)
	}
	w.instanceMu.Lock()
	w.instance = created
	w.instanceMu.Unlock()
	if g.opts.WarmUp == nil || w.slot == nil {
		return nil
	}
	w.warmingUp = true
	defer func() { w.warmingUp = false }()
	return g.opts.WarmUp(ctx, w.slot.Index, w.at, func(all []*infer.Request) { g.runWarmUp(ctx, w, all) })
}

// containStart is deferred around code that starts an instance: a panic becomes an error.
func (g *Group) containStart(w *worker, err *error) {
	if p := recover(); p != nil {
		log.Panicked(g.opts.Log, "panic while making an instance", p, "instance", w.at.Name)
		*err = fmt.Errorf("instance '%s': panic: %v", w.at.Name, p)
	}
}

// runWarmUp runs warm-up requests in one batch.
func (g *Group) runWarmUp(ctx context.Context, w *worker, all []*infer.Request) {
	for _, r := range all {
		r.Times.Queued = infer.Now()
		r.Move(infer.Decoded, infer.Executing)
		w.slot.Batch.Add(r)
	}
	g.run(ctx, w, nil)
}

// labels mark the goroutines of an instance in profiles.
func (g *Group) labels(w *worker) pprof.LabelSet {
	return pprof.Labels("model", g.opts.Name, "version", g.opts.Version, "instance", w.at.Name)
}

// ended records the end of the goroutine of an instance.
func (g *Group) ended() {
	if g.goroutines.Add(-1) == 0 {
		close(g.goroutinesDone)
	}
	g.done()
}

// serve runs the batches of an instance, on the instance's own goroutine.
func (g *Group) serve(w *worker) {
	defer g.ended()
	pprof.SetGoroutineLabels(w.batches)
	for again := true; again; again = g.restart(w.batches, w) {
		for g.source.Next(w.slot) {
			g.run(w.batches, w, nil)
		}
	}
	g.waitKept(w)
	g.leaveIfRemoved(w)
}
