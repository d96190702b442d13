package sequence

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// Source is the scheduler of one model version with sequences. Each instance has
// slots, and a sequence that begins takes a free one until its end: all its
// requests run there, one after the other. Sequences that find no slot wait in
// the backlog.
//
// There is one lock and no goroutine: instances pull, as from a
// [scheduler.Queue], and one timer sees to idle sequences and those that waited
// too long.
type Source struct {
	model     string
	stats     *stats.Model
	log       *slog.Logger
	pool      *tensor.Pool
	memory    Memory
	gate      scheduler.Gate
	iterative bool
	idleAfter int64 // ns
	slots     int   // of each instance
	controls  *controls
	strategy  strategy
	benches   []*bench
	timer     scheduler.Timer
	before    atomic.Pointer[Source] // nil once its sequences are over

	mu state
}

// state is what the lock of a Source guards, the benches and sequences too.
type state struct {
	sync.Mutex
	known   map[id]*sequence // those whose next request is expected
	recent  chain            // the known ones, least recently seen first
	backlog backlog
	free    free
	held    int         // slots that belong to a sequence
	alive   int         // instances in service
	spare   []*sequence // for reuse
	hold    hold

	stopping bool          // no sequence may begin
	over     chan struct{} // closed when stopping and no sequence is left
	ended    bool          // over is closed
	closed   bool          // slots are given up as soon as nothing runs or waits in them
	aborted  bool          // nothing waits any more

	// What unlock does without the lock.
	rouse  *bench
	failed []failure
}

// Options say what a Source is made of.
type Options struct {
	Config *inferencepb.ModelConfig // with sequence_batching
	Seats  int
	Stats  *stats.Model
	Log    *slog.Logger
	Pool   *tensor.Pool
	// Before is the source of the instances that these replace, which keeps its
	// sequences until they end; nil: none.
	Before *Source
	// Memory makes implicit states; nil: the model has none.
	Memory Memory
	// Alarm makes what wakes an instance whose batch waits for more; nil: NewClock.
	Alarm func() scheduler.Alarm
	// Gate lets instances begin a batch; nil: always.
	Gate scheduler.Gate
	// Hold keeps everything waiting until that many requests are in slots, and
	// Backlog more of them in the backlog; for tests.
	Hold, Backlog int
}

var (
	_ scheduler.Source   = (*Source)(nil)
	_ scheduler.Releaser = (*Source)(nil)
	_ infer.Queue        = (*Source)(nil)
)

// New makes a source and its seats, all of them held by the instances'
// goroutines until they call Next. The error is that there is no memory.
func New(o Options) (*Source, []*scheduler.Seat, error) {
	c := o.Config.GetSequenceBatching()
	controls, err := newControls(o.Config, o.Pool)
	if err != nil {
		return nil, nil, err
	}
	s := &Source{
		model: o.Config.GetName(), stats: o.Stats, log: o.Log, pool: o.Pool, memory: o.Memory, gate: o.Gate,
		iterative: c.GetIterativeSequence(),
		idleAfter: scheduler.Micros(max(c.GetMaxSequenceIdleMicroseconds(), 1)),
		controls:  controls,
		strategy:  newStrategy(o.Config),
		slots:     slotsOf(o.Config),
	}
	s.before.Store(o.Before)
	s.mu.known = map[id]*sequence{}
	s.mu.recent.of = recent
	s.mu.backlog.of = waiting
	s.mu.alive = o.Seats
	s.mu.hold = hold{slots: o.Hold, backlog: o.Backlog}
	seats := scheduler.NewSeats(o.Seats)
	for _, seat := range seats {
		alarm := scheduler.NewClock
		if o.Alarm != nil {
			alarm = o.Alarm
		}
		s.benches = append(s.benches, newBench(s, seat, alarm()))
	}
	s.timer.Start(s.tick)
	return s, seats, nil
}

func slotsOf(cfg *inferencepb.ModelConfig) int {
	if n := cfg.GetSequenceBatching().GetOldest().GetMaxCandidateSequences(); n > 0 {
		return int(n)
	}
	return max(int(cfg.GetMaxBatchSize()), 1)
}

// failure is a request that never ran, or not again, and its answer.
type failure struct {
	r   *infer.Request
	err error
	why stats.Failure
}

// fail leaves a request that does not wait any more to unlock.
func (s *Source) fail(r *infer.Request, err error, why stats.Failure) {
	s.mu.failed = append(s.mu.failed, failure{r, err, why})
}

// unlock also wakes the instances that have something to do, and answers those
// requests that failed.
func (s *Source) unlock() {
	if s.mu.over != nil && !s.mu.ended && s.mu.held == 0 {
		s.mu.ended = true
		close(s.mu.over)
	}
	b, failed := s.mu.rouse, s.mu.failed
	s.mu.rouse, s.mu.failed = nil, nil
	s.mu.Unlock()
	for b != nil {
		next := b.link
		b.link = nil
		b.wake <- struct{}{}
		b = next
	}
	for _, f := range failed {
		s.stats.Fail(f.why, infer.Now()-f.r.Times.Received)
		f.r.Fail(f.err)
		f.r.Release()
	}
}

// Alive is the number of instances in service.
func (s *Source) Alive() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.alive
}

// Held is the number of sequences that have a slot: those that a server which
// stops waits for.
func (s *Source) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.held
}
