package sequence

import (
	"log/slog"
	"sync"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// Source is the scheduler of one model version with sequences. Each instance has sequence
// slots, and a new sequence takes a free one until its end: all its requests run there,
// one after the other. Sequences without a slot wait in the backlog.
//
// There is one lock and no goroutine: instances pull, as from a [scheduler.Queue], and
// one timer ends idle sequences and those that waited too long.
type Source struct {
	model     string
	stats     *stats.Model
	log       *slog.Logger
	pool      *tensor.Pool
	implicit  *ImplicitStates
	gate      scheduler.Gate
	iterative bool
	idleAfter int64 // ns
	slots     int   // sequence slots of each instance
	controls  *controls
	strategy  strategy
	newAlarm  func() scheduler.Alarm
	timer     scheduler.Timer

	mu state
}

// state is what the lock of a Source guards, with the instances and sequences.
type state struct {
	sync.Mutex
	instances  []*instance      // by age
	known      map[id]*sequence // sequences that requests may join
	recent     sequenceList     // the known sequences, least recently seen first
	backlog    backlog
	free       freeSlots
	slotsInUse int         // sequence slots that belong to a sequence
	alive      int         // instances in service
	spare      []*sequence // for reuse
	hold       hold

	stopping      bool          // no sequence may start
	drained       chan struct{} // made by Stop; closed when no sequence has a slot
	drainedClosed bool          // drained is closed
	closed        bool          // slots are freed as soon as nothing runs or waits in them
	aborted       bool          // waiting requests were answered; none may wait again

	// unlock wakes the instances of wakeList and answers the requests of failed, without
	// the lock.
	wakeList *instance
	failed   []failure
}

// Options configure a Source.
type Options struct {
	Config *inferencepb.ModelConfig // with sequence_batching
	Slots  int
	Stats  *stats.Model
	Log    *slog.Logger
	Pool   *tensor.Pool
	// States are the implicit states of the model; nil: it has none.
	States *ImplicitStates
	// Alarm makes the alarm of an instance whose batch waits for more requests; nil:
	// NewAlarm.
	Alarm func() scheduler.Alarm
	// Gate lets instances start a batch; nil: always.
	Gate scheduler.Gate
	// HoldSlots and HoldBacklog delay the first batch until that many requests wait in
	// slots and in the backlog; for tests.
	HoldSlots, HoldBacklog int
}

var (
	_ scheduler.Source   = (*Source)(nil)
	_ scheduler.Releaser = (*Source)(nil)
	_ infer.Queue        = (*Source)(nil)
)

// New returns a source and its instance slots. The instances' goroutines own the slots
// until they call Next. It fails only when there is no memory.
func New(o Options) (*Source, []*scheduler.Slot, error) {
	c := o.Config.GetSequenceBatching()
	controls, err := newControls(o.Config, o.Pool)
	if err != nil {
		return nil, nil, err
	}
	s := &Source{
		model: o.Config.GetName(), stats: o.Stats, log: o.Log, pool: o.Pool, implicit: o.States, gate: o.Gate,
		iterative: c.GetIterativeSequence(),
		idleAfter: scheduler.Micros(max(c.GetMaxSequenceIdleMicroseconds(), 1)),
		controls:  controls,
		strategy:  newStrategy(o.Config),
		slots:     slotsOf(o.Config),
		newAlarm:  o.Alarm,
	}
	if s.newAlarm == nil {
		s.newAlarm = scheduler.NewAlarm
	}
	s.mu.known = map[id]*sequence{}
	s.mu.recent.kind = recentList
	s.mu.backlog.kind = backlogList
	s.mu.alive = o.Slots
	s.mu.hold = hold{slots: o.HoldSlots, backlog: o.HoldBacklog}
	slots := scheduler.NewSlots(o.Slots)
	for _, instanceSlot := range slots {
		s.mu.instances = append(s.mu.instances, newInstance(s, instanceSlot, s.newAlarm()))
	}
	s.timer.Start(s.onTimer)
	return s, slots, nil
}

// slotsOf returns the number of sequence slots of an instance.
func slotsOf(cfg *inferencepb.ModelConfig) int {
	if n := cfg.GetSequenceBatching().GetOldest().GetMaxCandidateSequences(); n > 0 {
		return int(n)
	}
	return max(int(cfg.GetMaxBatchSize()), 1)
}

// failure is a request that will not run, and its error.
type failure struct {
	r   *infer.Request
	err error
	why stats.Failure
}

// fail records the error of a request that no longer waits. unlock answers the request.
func (s *Source) fail(r *infer.Request, err error, why stats.Failure) {
	s.mu.failed = append(s.mu.failed, failure{r, err, why})
}

// unlock releases the lock, wakes the instances that have work and answers the failed
// requests.
func (s *Source) unlock() {
	if s.mu.drained != nil && !s.mu.drainedClosed && s.mu.slotsInUse == 0 {
		s.mu.drainedClosed = true
		close(s.mu.drained)
	}
	inst, failed := s.mu.wakeList, s.mu.failed
	s.mu.wakeList, s.mu.failed = nil, nil
	s.mu.Unlock()
	for inst != nil {
		next := inst.nextWake
		inst.nextWake = nil
		inst.wake <- struct{}{}
		inst = next
	}
	for _, f := range failed {
		s.stats.Fail(f.why, infer.Now()-f.r.Times.Received)
		f.r.Fail(f.err)
		f.r.Release()
	}
}

// Alive returns the number of instances in service.
func (s *Source) Alive() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.alive
}

// SlotsInUse returns the number of sequence slots that a sequence has. A draining server
// waits for these sequences.
func (s *Source) SlotsInUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.slotsInUse
}
