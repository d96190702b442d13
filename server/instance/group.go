// Package instance runs the batches of one model version: a Group owns the
// version's instances, their goroutines and the queue in front of them. When a
// batch is due is decided by package scheduler; what an instance does with it
// by its backend.
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

// Options say what a Group runs.
type Options struct {
	Name, Version string
	Config        *inferencepb.ModelConfig
	// Model is closed by the group, after its instances.
	Model      backend.Model
	Placements []backend.Placement
	// Passive instances are made and never run.
	Passive []backend.Placement
	// Source gives the batches; Seats has one for each placement.
	Source scheduler.Source
	Seats  []*scheduler.Seat
	Stats  *stats.Model
	// Observer hears of the batches; nil: nobody.
	Observer scheduler.Observer
	Log      *slog.Logger
	// WarmUp runs on each new instance before the group starts; nil: nothing does. It
	// has requests run as any others are, in one batch, by run, which uses up the
	// core's references.
	WarmUp func(ctx context.Context, seat int, at backend.Placement, run func([]*infer.Request)) error
}

// Group is the instances of one model version and what gives them batches.
type Group struct {
	opts   Options
	source scheduler.Source
	// releaser is the source if it wants to know when requests are done with.
	releaser scheduler.Releaser
	workers  []*worker
	passive  []*worker // without a seat
	// life ends when a drain gives up; backends see it. It is here because
	// callers run batches too, and a batch outlives the caller's own context.
	life    context.Context
	abandon context.CancelFunc

	decoupled bool
	// running counts the goroutines of the instances and the requests that they keep.
	running atomic.Int64
	ended   chan struct{} // closed when running is zero
	serving atomic.Int64  // the goroutines among them
	served  chan struct{} // closed when serving is zero
	gaveUp  chan struct{} // closed when a drain has given up
	giveUp  sync.Once
	closing chan struct{} // closed when the group drains
	drain   sync.Once
	close   sync.Once
	closed  error
}

// worker is one instance with its slot, through all its restarts.
type worker struct {
	group    *Group
	at       backend.Placement
	stats    *stats.DeviceStats
	seat     *scheduler.Seat // nil when it is passive
	instance backend.Instance
	using    sync.RWMutex // instance, for who only looks at it
	kept     kept
	// cold says that it warms up: what it runs is no work of the scheduler's.
	cold bool

	watcher   sync.WaitGroup
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

// New makes a group; Start makes it run.
func New(o Options) *Group {
	g := &Group{opts: o, source: o.Source, ended: make(chan struct{}), served: make(chan struct{}), gaveUp: make(chan struct{}), closing: make(chan struct{}), decoupled: o.Config.GetModelTransactionPolicy().GetDecoupled()}
	g.life, g.abandon = context.WithCancel(context.Background())
	g.releaser, _ = o.Source.(scheduler.Releaser)
	for i, s := range o.Seats {
		g.workers = append(g.workers, &worker{group: g, at: o.Placements[i], seat: s, stats: counters(o.Stats, o.Placements[i])})
	}
	for _, at := range o.Passive {
		g.passive = append(g.passive, &worker{group: g, at: at})
	}
	return g
}

// counters are where an instance counts.
func counters(m *stats.Model, at backend.Placement) *stats.DeviceStats {
	if at.Kind == inferencepb.ModelInstanceGroup_KIND_GPU {
		return m.Device(at.Device)
	}
	return &m.DeviceStats
}

// loads bounds how many instances are made at the same time.
const loads = 4

// Start makes the instances, warms them up and starts their goroutines. When
// one instance cannot be made, all are closed again and the model too.
func (g *Group) Start(ctx context.Context) error {
	if len(g.workers) == 0 {
		return errors.Join(status.New(status.InvalidArg,
			"model '%s' has passive instances only: none of them takes requests", g.opts.Name), g.closeAll())
	}
	g.running.Store(int64(len(g.workers)))
	g.serving.Store(int64(len(g.workers)))
	making, mctx := errgroup.WithContext(ctx)
	making.SetLimit(loads)
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

// newInstance makes an instance; what a backend panics with is an error.
func (g *Group) newInstance(ctx context.Context, w *worker) (err error) {
	defer func() {
		if p := recover(); p != nil {
			g.opts.Log.Error("panic while making an instance", "instance", w.at.Name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("instance '%s': panic: %v", w.at.Name, p)
		}
	}()
	made, err := g.opts.Model.NewInstance(ctx, w.at)
	if err != nil {
		return err // the text has no name of the instance, as Triton's
	}
	if made == nil {
		return status.New(status.Internal, "the backend of model '%s' made no instance", g.opts.Name)
	}
	w.using.Lock()
	w.instance = made
	w.using.Unlock()
	if g.opts.WarmUp == nil || w.seat == nil {
		return nil
	}
	w.cold = true
	defer func() { w.cold = false }()
	return g.opts.WarmUp(ctx, w.seat.Index, w.at, func(all []*infer.Request) { g.warm(ctx, w, all) })
}

// warm runs requests that come from nowhere.
func (g *Group) warm(ctx context.Context, w *worker, all []*infer.Request) {
	for _, r := range all {
		r.Times.Queued = infer.Now()
		r.Move(infer.Decoded, infer.Executing)
		w.seat.Batch.Add(r)
	}
	g.run(ctx, w, nil)
}

func (g *Group) serve(w *worker) {
	defer func() {
		if g.serving.Add(-1) == 0 {
			close(g.served)
		}
		g.leave()
	}()
	labels := pprof.Labels("model", g.opts.Name, "version", g.opts.Version, "instance", w.at.Name)
	pprof.Do(g.life, labels, func(ctx context.Context) {
		for again := true; again; again = g.restart(ctx, w) {
			for g.source.Next(w.seat) {
				g.run(ctx, w, nil)
			}
		}
		g.linger(w)
	})
}

// runInline runs the batch of a slot on the goroutine of the caller that self is
// of, and gives the slot back in every case.
func (g *Group) runInline(seat *scheduler.Seat, self *infer.Request) {
	defer g.source.Done(seat)
	g.run(g.life, g.workers[seat.Index], self)
}

// leave ends what running counts.
func (g *Group) leave() {
	if g.running.Add(-1) == 0 {
		close(g.ended)
	}
}

var _ infer.Runner = (*Group)(nil)

// Infer runs one request and waits for its one response. It uses up the core's
// reference in every case. When an instance is idle and nothing is to be waited
// for, the batch runs on the caller's own goroutine.
func (g *Group) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if ctx.Err() != nil {
		r.Release()
		return nil, cancelled(ctx)
	}
	r.Unary()
	r.Bind(ctx)
	seat, err := g.source.Enqueue(r, !g.decoupled)
	if err != nil {
		r.Release()
		return nil, err
	}
	if seat != nil {
		g.runInline(seat, r)
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

// Submit queues a request whose Sink takes the responses. The core's reference
// moves into the group unless there is an error.
func (g *Group) Submit(r *infer.Request) error {
	_, err := g.source.Enqueue(r, false)
	return err
}

// Ready says whether any instance works.
func (g *Group) Ready() bool { return g.source.Alive() > 0 }

// Memory is what the model and its instances say they hold.
func (g *Group) Memory() []backend.Memory {
	var all []backend.Memory
	add := func(v any) {
		if m, ok := v.(backend.MemoryReporter); ok {
			all = append(all, m.Memory()...)
		}
	}
	add(g.opts.Model)
	for _, w := range slices.Concat(g.workers, g.passive) {
		w.using.RLock() // it is not closed meanwhile
		add(w.instance)
		w.using.RUnlock()
	}
	return all
}

// Drain stops accepting requests, lets what waits and runs finish, and closes
// the instances and the model. When ctx ends first everything that waits is
// answered Unavailable, as is what engines keep and still have to answer,
// running batches see their context end, and the error says that they run on;
// Drain may then be called again. From then on it waits for running batches only:
// what engines keep is taken back when they are closed.
func (g *Group) Drain(ctx context.Context) error {
	g.drain.Do(func() { close(g.closing) })
	g.source.Close()
	if !g.wait(ctx) {
		g.giveUp.Do(func() { close(g.gaveUp) })
		g.source.Abort()
		g.abandon()
		g.abortKept()
		return fmt.Errorf("model '%s' version %s: instances still run: %w", g.opts.Name, g.opts.Version, context.Cause(ctx))
	}
	return g.closeAll()
}

// wait waits until nothing runs and nothing is kept; from the moment on that a drain
// has given up, until nothing runs. False when ctx ends first.
func (g *Group) wait(ctx context.Context) bool {
	select {
	case <-g.ended:
		return true
	case <-ctx.Done():
		return false
	case <-g.gaveUp:
	}
	select {
	case <-g.served:
		return true
	case <-ctx.Done():
		return false
	}
}

// closeInstance closes the instance of a worker, if it has one, and takes back what
// that has kept.
func (g *Group) closeInstance(w *worker) (err error) {
	w.using.Lock()
	old := w.instance
	w.instance = nil
	w.using.Unlock()
	if old != nil {
		err = g.safely(w.at.Name, old.Close)
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
		g.closed = errors.Join(append(errs, g.safely(g.opts.Name, g.opts.Model.Close))...)
		g.abandon()
		g.source.Free()
	})
	return g.closed
}
