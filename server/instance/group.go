// Package instance runs the batches of one model version: a Group owns the version's
// instances, their goroutines and the queue in front of them. Package scheduler decides
// when a batch is due, the backend what an instance does with it.
package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// Options configure a Group.
type Options struct {
	Name, Version string
	Config        *inferencepb.ModelConfig
	// Model is closed by the group, after its instances.
	Model      backend.Model
	Placements []backend.Placement
	// Passive instances are created and never run.
	Passive []backend.Placement
	// Source gives the batches; Slots has one slot for each placement.
	Source scheduler.Source
	Slots  []*scheduler.Slot
	Stats  *stats.Model
	// Observer observes the batches; nil: none.
	Observer scheduler.Observer
	Log      *slog.Logger
	// WarmUp runs on each new instance before the group starts; nil: none. It runs
	// requests in one batch with run, which consumes the core's references.
	WarmUp func(ctx context.Context, slot int, at backend.Placement, run func([]*infer.Request)) error
}

// Group is the instances of one model version and the source of their batches.
type Group struct {
	opts   Options
	source scheduler.Source
	// releaser is the source if it is a Releaser.
	releaser scheduler.Releaser
	workers  []*worker
	passive  []*worker // without a slot
	// life ends when a drain times out; backends see it. It is a field because callers
	// run batches too, and a batch outlives the caller's own context.
	life    context.Context
	abandon context.CancelFunc

	decoupled bool
	// running counts the goroutines of the instances and the requests that they keep.
	running        atomic.Int64
	allDone        chan struct{} // closed when running is zero
	goroutines     atomic.Int64  // those among running
	goroutinesDone chan struct{} // closed when goroutines is zero
	drainTimedOut  chan struct{} // closed when a drain has timed out
	drainTimeout   sync.Once
	closing        chan struct{} // closed when the group drains
	drain          sync.Once
	close          sync.Once
	closed         error
}

// worker is one instance and its slot, through all restarts of the instance.
type worker struct {
	group      *Group
	at         backend.Placement
	stats      *stats.DeviceStats
	slot       *scheduler.Slot // nil when it is passive
	instance   backend.Instance
	instanceMu sync.RWMutex // guards instance for readers on other goroutines
	kept       keptRequests
	// warmingUp says that its batches are warm-up samples, which the scheduler does not
	// count.
	warmingUp bool

	watching  sync.WaitGroup
	stopWatch chan struct{}

	life struct {
		sync.Mutex
		state    State
		reason   string
		since    int64         // by infer.Now, when it became Ready
		broke    chan struct{} // closed when it leaves Ready for Broken
		attempts int           // to restart it, in a row
		restarts int
	}
}

// New returns a group; Start runs it.
func New(o Options) *Group {
	g := &Group{opts: o, source: o.Source, allDone: make(chan struct{}), goroutinesDone: make(chan struct{}), drainTimedOut: make(chan struct{}), closing: make(chan struct{}), decoupled: o.Config.GetModelTransactionPolicy().GetDecoupled()}
	g.life, g.abandon = context.WithCancel(context.Background())
	g.releaser, _ = o.Source.(scheduler.Releaser)
	for i, s := range o.Slots {
		g.workers = append(g.workers, &worker{group: g, at: o.Placements[i], slot: s, stats: counters(o.Stats, o.Placements[i])})
	}
	for _, at := range o.Passive {
		g.passive = append(g.passive, &worker{group: g, at: at})
	}
	return g
}

// counters returns the statistics of an instance's device.
func counters(m *stats.Model, at backend.Placement) *stats.DeviceStats {
	if at.Kind == inferencepb.ModelInstanceGroup_KIND_GPU {
		return m.Device(at.Device)
	}
	return &m.DeviceStats
}

// maxParallelLoads bounds how many instances are created at the same time.
const maxParallelLoads = 4

// Start creates the instances, warms them up and starts their goroutines. When one
// instance cannot be created, all are closed, and the model too.
func (g *Group) Start(ctx context.Context) error {
	if len(g.workers) == 0 {
		return errors.Join(status.New(status.InvalidArg,
			"model '%s' has passive instances only: none of them takes requests", g.opts.Name), g.closeAll())
	}
	g.running.Store(int64(len(g.workers)))
	g.goroutines.Store(int64(len(g.workers)))
	making, mctx := errgroup.WithContext(ctx)
	making.SetLimit(maxParallelLoads)
	for _, w := range slices.Concat(g.workers, g.passive) {
		making.Go(func() error { return g.newInstance(mctx, w) })
	}
	if err := making.Wait(); err != nil {
		return errors.Join(err, g.closeAll())
	}
	for _, w := range g.workers {
		w.move(Ready, "")
		g.watch(w)
		go g.serve(w)
	}
	return nil
}

// newInstance creates an instance; a panic of the backend becomes an error.
func (g *Group) newInstance(ctx context.Context, w *worker) (err error) {
	defer func() {
		if p := recover(); p != nil {
			g.opts.Log.Error("panic while making an instance", "instance", w.at.Name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("instance '%s': panic: %v", w.at.Name, p)
		}
	}()
	made, err := g.opts.Model.NewInstance(ctx, w.at)
	if err != nil {
		return err // without the instance's name, as in Triton
	}
	if made == nil {
		return status.New(status.Internal, "the backend of model '%s' made no instance", g.opts.Name)
	}
	w.instanceMu.Lock()
	w.instance = made
	w.instanceMu.Unlock()
	if g.opts.WarmUp == nil || w.slot == nil {
		return nil
	}
	w.warmingUp = true
	defer func() { w.warmingUp = false }()
	return g.opts.WarmUp(ctx, w.slot.Index, w.at, func(all []*infer.Request) { g.warm(ctx, w, all) })
}

// warm runs warm-up requests.
func (g *Group) warm(ctx context.Context, w *worker, all []*infer.Request) {
	for _, r := range all {
		r.Times.Queued = infer.Now()
		r.Move(infer.Decoded, infer.Executing)
		w.slot.Batch.Add(r)
	}
	g.run(ctx, w, nil)
}

// serve is the goroutine of an instance.
func (g *Group) serve(w *worker) {
	defer func() {
		if g.goroutines.Add(-1) == 0 {
			close(g.goroutinesDone)
		}
		g.done()
	}()
	labels := pprof.Labels("model", g.opts.Name, "version", g.opts.Version, "instance", w.at.Name)
	pprof.Do(g.life, labels, func(ctx context.Context) {
		for again := true; again; again = g.restart(ctx, w) {
			for g.source.Next(w.slot) {
				g.run(ctx, w, nil)
			}
		}
		g.waitKept(w)
	})
}

// runInline runs the batch of a slot on the goroutine of the caller of self, and returns
// the slot in every case.
func (g *Group) runInline(slot *scheduler.Slot, self *infer.Request) {
	defer g.source.Done(slot)
	g.run(g.life, g.workers[slot.Index], self)
}

// done ends one goroutine or kept request that running counts.
func (g *Group) done() {
	if g.running.Add(-1) == 0 {
		close(g.allDone)
	}
}

var _ infer.Runner = (*Group)(nil)

// Infer runs one request and waits for its one response. It consumes the core's reference
// in every case. When an instance is idle and the batch is due at once, it runs on the
// caller's own goroutine.
func (g *Group) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if ctx.Err() != nil {
		r.Release()
		return nil, cancelled(ctx)
	}
	r.Unary()
	r.CancelWith(ctx)
	slot, err := g.source.Enqueue(r, !g.decoupled)
	if err != nil {
		r.Release()
		return nil, err
	}
	if slot != nil {
		g.runInline(slot, r)
		return r.Take(ctx)
	}
	resp, err := r.Wait(ctx)
	if err != nil && r.Cancelled() {
		return nil, cancelled(ctx)
	}
	return resp, err
}

func cancelled(ctx context.Context) error {
	return &status.Error{Code: status.Cancelled, Cause: context.Cause(ctx)}
}

// Submit queues a request whose Sink takes the responses. The core's reference moves into
// the group unless there is an error.
func (g *Group) Submit(r *infer.Request) error {
	_, err := g.source.Enqueue(r, false)
	return err
}

// Ready reports whether any instance works.
func (g *Group) Ready() bool { return g.source.Alive() > 0 }

// Memory returns the memory that the model and its instances report.
func (g *Group) Memory() []backend.Memory {
	var all []backend.Memory
	add := func(v any) {
		if m, ok := v.(backend.MemoryReporter); ok {
			all = append(all, m.Memory()...)
		}
	}
	add(g.opts.Model)
	for _, w := range slices.Concat(g.workers, g.passive) {
		w.instanceMu.RLock() // so that it is not closed meanwhile
		add(w.instance)
		w.instanceMu.RUnlock()
	}
	return all
}

// Drain stops accepting requests, waits for queued and running ones, and closes the
// instances and the model. When ctx ends first, everything that waits is answered
// Unavailable, and so are the kept requests that are still unanswered. Running batches
// see their context end, and the error says that they still run; Drain may then be called
// again. From then on it waits for running batches only: kept requests are taken back
// when their instances are closed.
func (g *Group) Drain(ctx context.Context) error {
	g.drain.Do(func() { close(g.closing) })
	g.source.Close()
	if !g.wait(ctx) {
		g.drainTimeout.Do(func() { close(g.drainTimedOut) })
		g.source.Abort()
		g.abandon()
		g.abortKept()
		return fmt.Errorf("model '%s' version %s: instances still run: %w", g.opts.Name, g.opts.Version, context.Cause(ctx))
	}
	return g.closeAll()
}

// wait waits until nothing runs and nothing is kept; after a drain has timed out, until
// nothing runs. It returns false when ctx ends first.
func (g *Group) wait(ctx context.Context) bool {
	select {
	case <-g.allDone:
		return true
	case <-ctx.Done():
		return false
	case <-g.drainTimedOut:
	}
	select {
	case <-g.goroutinesDone:
		return true
	case <-ctx.Done():
		return false
	}
}

// closeInstance closes the instance of a worker, if it has one, and takes back the
// requests that it kept.
func (g *Group) closeInstance(w *worker) (err error) {
	w.instanceMu.Lock()
	old := w.instance
	w.instance = nil
	w.instanceMu.Unlock()
	if old != nil {
		err = g.closeContained(w.at.Name, old.Close)
	}
	w.reclaim()
	return err
}

func (g *Group) closeAll() error {
	g.close.Do(func() {
		var errs []error
		for _, w := range slices.Concat(g.workers, g.passive) {
			w.unwatch()
			w.move(Closed, "")
			errs = append(errs, g.closeInstance(w))
		}
		g.closed = errors.Join(append(errs, g.closeContained(g.opts.Name, g.opts.Model.Close))...)
		g.abandon()
		g.source.Free()
	})
	return g.closed
}
