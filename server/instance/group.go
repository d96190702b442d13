// Package instance runs the batches of one model version: a Group owns the version's
// instances, their goroutines and the queue in front of them. Package scheduler decides
// when a batch is due, the backend what an instance does with it.
package instance

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"sync"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/hostpolicy"
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
	// Occupy is called before an instance is created that a change of the instance groups adds, and
	// Vacate when such an instance, or another one that a change removes, is closed; nil: nothing is.
	Occupy func(slot int, at backend.Placement) error
	Vacate func(slot int)
	// WarmUp warms up each new instance before it serves; nil: none. It calls run, which
	// runs requests in one batch and consumes the core's references.
	WarmUp func(ctx context.Context, slot int, at backend.Placement, run func([]*infer.Request)) error
}

// Group holds the instances of one model version and the source of their batches.
type Group struct {
	opts   Options
	source scheduler.Source
	// releaser is the source if it is a Releaser.
	releaser scheduler.Releaser
	members  members
	// bySlot are the workers by the index of their slot.
	bySlot atomic.Pointer[[]*worker]
	// batchContext is the context of all batches. It ends when a drain times out. A batch
	// that runs on a caller's goroutine has this context too: other callers' requests are
	// in it, so the end of the caller's own context must not end it.
	batchContext  context.Context
	cancelBatches context.CancelFunc

	decoupled bool
	// running counts the goroutines of the instances and the requests that they keep.
	running        atomic.Int64
	allDone        chan struct{} // closed when running is zero
	goroutines     atomic.Int64  // of the instances
	goroutinesDone chan struct{} // closed when goroutines is zero
	drainTimedOut  chan struct{} // closed when a drain has timed out
	timeoutOnce    sync.Once
	closing        chan struct{} // closed when the group drains
	drainOnce      sync.Once
	closeOnce      sync.Once
	closeErr       error // the result of close
}

// worker is one instance and its slot, through all restarts of the instance.
type worker struct {
	group      *Group
	at         backend.Placement
	stats      *stats.DeviceStats
	executions *atomic.Uint64  // that succeeded
	slot       *scheduler.Slot // nil when it is passive
	batches    context.Context // the group's context of batches, with the instance's labels for profiles
	instance   backend.Instance
	instanceMu sync.RWMutex // guards instance for readers on other goroutines
	// thread calls the instance; nil: any thread does.
	thread *hostpolicy.Thread
	kept   keptRequests
	// warmingUp is set while warm-up samples run. Their batches are not counted by close
	// reason, and observers do not see them.
	warmingUp bool

	// removed is closed when a change of the instance groups removes the instance, left when it is
	// closed for that.
	removed, left chan struct{}

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
	g := &Group{
		opts: o, source: o.Source, decoupled: o.Config.Decoupled(),
		allDone: make(chan struct{}), goroutinesDone: make(chan struct{}),
		drainTimedOut: make(chan struct{}), closing: make(chan struct{}),
	}
	g.batchContext, g.cancelBatches = context.WithCancel(context.Background())
	g.releaser, _ = o.Source.(scheduler.Releaser)
	for i, s := range o.Slots {
		g.members.workers = append(g.members.workers, g.newWorker(o.Placements[i], s))
	}
	for _, at := range o.Passive {
		g.members.passive = append(g.members.passive, g.newWorker(at, nil))
	}
	g.indexSlots()
	return g
}

// newWorker returns a worker without an instance; slot is nil if it is passive.
func (g *Group) newWorker(at backend.Placement, slot *scheduler.Slot) *worker {
	w := &worker{group: g, at: at, slot: slot, removed: make(chan struct{}), left: make(chan struct{})}
	w.batches = pprof.WithLabels(g.batchContext, g.labels(w))
	if slot != nil {
		w.stats, w.executions = deviceStats(g.opts.Stats, at), g.opts.Stats.Instance(slot.Index)
	}
	return w
}

// deviceStats returns the statistics of the device that an instance is on.
func deviceStats(m *stats.Model, at backend.Placement) *stats.DeviceStats {
	if at.Kind == inferencepb.ModelInstanceGroup_KIND_GPU {
		return m.Device(at.Device)
	}
	return &m.DeviceStats
}

// runInline runs the batch of a slot on the goroutine of a caller, whose request is self. It
// returns the slot in every case.
func (g *Group) runInline(slot *scheduler.Slot, self *infer.Request) {
	defer g.source.Done(slot)
	w := (*g.bySlot.Load())[slot.Index]
	pprof.SetGoroutineLabels(w.batches)
	defer pprof.SetGoroutineLabels(context.Background())
	g.run(w.batches, w, self)
}

// done records the end of a goroutine or of a kept request, which running counts.
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
		return nil, infer.Cancelled(ctx)
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
		return nil, infer.Cancelled(ctx) // the queue or the backend may have answered first, with an error without a cause
	}
	return resp, err
}

// Submit queues a request whose Sink takes the responses. The core's reference moves into
// the group unless there is an error.
func (g *Group) Submit(r *infer.Request) error {
	_, err := g.source.Enqueue(r, false)
	return err
}

// Ready reports whether any instance works.
func (g *Group) Ready() bool { return g.source.Alive() > 0 }

// Processes returns the IDs of the processes that instances have of their own.
func (g *Group) Processes() (all []int) {
	for _, w := range g.members.all() {
		w.instanceMu.RLock() // so that it is not closed meanwhile
		if p, ok := w.instance.(backend.ProcessOwner); ok {
			if pid := p.Process(); pid != 0 {
				all = append(all, pid)
			}
		}
		w.instanceMu.RUnlock()
	}
	return all
}

// InputPool returns the pool whose memory the model takes without a copy; nil: there is none.
func (g *Group) InputPool() *tensor.Pool {
	if m, ok := g.opts.Model.(backend.InputPooler); ok {
		return m.InputPool()
	}
	return nil
}

// Memory returns the memory that the model and its instances report.
func (g *Group) Memory() []backend.Memory {
	var all []backend.Memory
	add := func(v any) {
		if m, ok := v.(backend.MemoryReporter); ok {
			all = append(all, m.Memory()...)
		}
	}
	add(g.opts.Model)
	for _, w := range g.members.all() {
		w.instanceMu.RLock() // so that it is not closed meanwhile
		add(w.instance)
		w.instanceMu.RUnlock()
	}
	return all
}
