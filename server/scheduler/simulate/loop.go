package simulate

import (
	"container/heap"
	"math"
	"time"

	"triton/server/infer"
	"triton/server/scheduler"
)

const forever = math.MaxInt64

// simulation is a run in progress. Times are nanoseconds since the start.
type simulation struct {
	model   Model
	trace   []Arrival
	queue   *scheduler.PriorityQueue
	result  *Result
	members []int // of all batches

	now       int64
	due       int64 // when the policy must be evaluated again; forever: after the next event
	instances []instance
	idle      []int // the last is used first, as in the queue
	busy      busy
	arrivals  []int // index in the trace by Position.Arrival
	shapes    shapes
	spare     []*infer.Request
	answered  int // requests, for clients that wait for their answer
	expired   infer.List
}

// instance is a simulated instance.
type instance struct {
	batch     infer.Batch
	execution scheduler.Execution
	index     int // of the batch in the result
}

// busy is a heap of the instances that run, by the end of their batch, then by number.
type busy []ending

type ending struct {
	at       int64
	instance int
}

func (b busy) Len() int      { return len(b) }
func (b busy) Swap(i, j int) { b[i], b[j] = b[j], b[i] }

func (b busy) Less(i, j int) bool {
	if b[i].at != b[j].at {
		return b[i].at < b[j].at
	}
	return b[i].instance < b[j].instance
}

// Push implements heap.Interface.
func (b *busy) Push(e any) { *b = append(*b, e.(ending)) }

// Pop implements heap.Interface.
func (b *busy) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}

func newSimulation(m Model, trace []Arrival) *simulation {
	s := &simulation{
		model: m, trace: trace, due: forever,
		queue:     scheduler.NewPriorityQueue(m.policy(), m.rules()),
		result:    &Result{Outcomes: make([]Outcome, len(trace)), Latency: make([]time.Duration, len(trace))},
		members:   make([]int, 0, len(trace)),
		arrivals:  make([]int, 0, len(trace)),
		instances: make([]instance, max(m.Instances, 1)),
		shapes:    newShapes(m.Config),
	}
	for i := range s.instances {
		s.idle = append(s.idle, i)
	}
	return s
}

// advance processes all events up to and including a moment.
func (s *simulation) advance(to int64) {
	for {
		at := s.next()
		if at > to || at == forever {
			break
		}
		s.now = max(at, s.now)
		s.endBatches()
		s.evaluate()
	}
	s.now = to
}

// next returns the time of the next event that is not an arrival.
func (s *simulation) next() int64 {
	at := int64(forever)
	if len(s.busy) > 0 {
		at = s.busy[0].at
	}
	if d := s.queue.Deadline(); d != 0 {
		at = min(at, d)
	}
	return min(at, s.due)
}

// send adds a request that arrives now to the trace.
func (s *simulation) send(rows int) {
	s.trace = append(s.trace, Arrival{At: time.Duration(s.now), Rows: rows})
	s.result.Outcomes = append(s.result.Outcomes, Waiting)
	s.result.Latency = append(s.result.Latency, 0)
	s.arrive(len(s.trace) - 1)
}

// arrive enqueues request i of the trace, if it is admitted.
func (s *simulation) arrive(i int) {
	r := s.request(&s.trace[i])
	if s.model.Admit != nil && s.model.Admit(r, s.now, s.queue.Ahead(r)) != nil {
		s.recordOutcome(r, i, Refused)
		return
	}
	s.expire()
	if s.queue.Push(r, s.now) != nil {
		s.recordOutcome(r, i, Rejected)
		return
	}
	s.arrivals = append(s.arrivals, i)
	s.takeDropped()
	s.evaluate()
}

// takeDropped ends the requests that the queue has given up.
func (s *simulation) takeDropped() {
	d := s.queue.Dropped()
	for r := d.Full.Pop(); r != nil; r = d.Full.Pop() {
		s.recordOutcome(r, s.arrivals[r.Position.Arrival], Rejected)
	}
	for r := d.Shed.Pop(); r != nil; r = d.Shed.Pop() {
		s.recordOutcome(r, s.arrivals[r.Position.Arrival], Shed)
	}
}

// request returns a request as a frontend would make it.
func (s *simulation) request(a *Arrival) *infer.Request {
	var r *infer.Request
	if n := len(s.spare); n > 0 {
		r, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		r = infer.NewUnpooled()
	}
	r.Batch, r.Priority, r.TimeoutMicros = a.Rows, a.Priority, uint64(a.Timeout.Microseconds())
	r.Caller = a.Caller
	r.Times = infer.Times{Received: s.now, Queued: s.now}
	s.shapes.set(r, a.Shape)
	return r
}

// recordOutcome ends a request that does not run.
func (s *simulation) recordOutcome(r *infer.Request, i int, o Outcome) {
	s.result.Outcomes[i] = o
	s.spare = append(s.spare, r)
}

func (s *simulation) expire() {
	s.queue.Expire(s.now, &s.expired)
	for r := s.expired.Pop(); r != nil; r = s.expired.Pop() {
		s.recordOutcome(r, s.arrivals[r.Position.Arrival], Expired)
	}
}

// evaluate gives batches to idle instances while some are due.
func (s *simulation) evaluate() {
	s.expire()
	s.due = forever
	for len(s.idle) > 0 && s.queue.Len() > 0 {
		decision := s.queue.Evaluate(s.now, false)
		s.takeDropped()
		if decision.Count == 0 {
			if decision.At != 0 {
				s.due = decision.At
			}
			return
		}
		s.start(decision)
	}
}

// start runs a batch on the instance that was idle last.
func (s *simulation) start(decision scheduler.Decision) {
	last := len(s.idle) - 1
	n := s.idle[last]
	s.idle = s.idle[:last]
	i := &s.instances[n]
	first := len(s.members)
	for range decision.Count {
		r := s.queue.Pop()
		r.Times.ComputeStart = s.now
		i.batch.Add(r)
		s.members = append(s.members, s.arrivals[r.Position.Arrival])
	}
	i.execution = scheduler.Execution{Why: decision.Why, Start: s.now, End: s.now + int64(s.model.Cost(i.batch.Rows))}
	heap.Push(&s.busy, ending{i.execution.End, n})
	i.index = len(s.result.Batches)
	s.result.Batches = append(s.result.Batches, Batch{
		Start: time.Duration(s.now), End: time.Duration(i.execution.End), Instance: n,
		Rows: i.batch.Rows, Why: decision.Why, Members: s.members[first:len(s.members):len(s.members)],
	})
	if s.model.Observer != nil {
		s.model.Observer.Started(n, &i.batch, s.now)
	}
}

// endBatches answers the batches that have ended.
func (s *simulation) endBatches() {
	for len(s.busy) > 0 && s.busy[0].at <= s.now {
		n := heap.Pop(&s.busy).(ending).instance
		i := &s.instances[n]
		if s.model.Observer != nil {
			s.model.Observer.Ended(n, &i.batch, i.execution)
		}
		for _, a := range s.result.Batches[i.index].Members {
			s.result.Outcomes[a] = Answered
			s.answered++
			s.result.Latency[a] = time.Duration(s.now) - s.trace[a].At
		}
		s.spare = append(s.spare, i.batch.Requests...)
		i.batch.Reset()
		s.idle = append(s.idle, n)
	}
}
