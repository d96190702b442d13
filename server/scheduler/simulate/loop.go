package simulate

import (
	"math"
	"time"

	"triton/server/infer"
	"triton/server/scheduler"
)

const forever = math.MaxInt64

// simulation is a run under way. Times are nanoseconds since the start.
type simulation struct {
	model   Model
	trace   []Arrival
	line    *scheduler.Line
	result  *Result
	members []int // of all batches

	now     int64
	due     int64 // when the policy is to be asked again; forever: when something happens
	busy    []instance
	idle    []int // the last is taken first, as by the queue
	came    []int // arrival by Place.Turn
	shapes  shapes
	spare   []*infer.Request
	expired infer.List
}

// instance is one that runs, or not.
type instance struct {
	batch infer.Batch
	did   scheduler.Ran // End is forever when it is idle
	index int           // of the batch in the result
}

func newSimulation(m Model, trace []Arrival) *simulation {
	s := &simulation{
		model: m, trace: trace, due: forever,
		line:    scheduler.NewLine(m.policy(), scheduler.RulesOf(m.Config)),
		result:  &Result{Outcomes: make([]Outcome, len(trace)), Latency: make([]time.Duration, len(trace))},
		members: make([]int, 0, len(trace)),
		came:    make([]int, 0, len(trace)),
		busy:    make([]instance, max(m.Instances, 1)),
		shapes:  newShapes(m.Config),
	}
	for i := range s.busy {
		s.busy[i].did.End = forever
		s.idle = append(s.idle, i)
	}
	return s
}

// advance lets everything happen up to a moment, that included.
func (s *simulation) advance(to int64) {
	for {
		at := s.next()
		if at > to || at == forever {
			break
		}
		s.now = max(at, s.now)
		s.end()
		s.look()
	}
	s.now = to
}

// next is when something happens by itself.
func (s *simulation) next() int64 {
	at := int64(forever)
	for i := range s.busy {
		at = min(at, s.busy[i].did.End)
	}
	if d := s.line.Deadline(); d != 0 {
		at = min(at, d)
	}
	return min(at, s.due)
}

// arrive lets request i of the trace wait, if it may.
func (s *simulation) arrive(i int) {
	r := s.request(&s.trace[i])
	if s.model.Admit != nil && s.model.Admit(r, s.now, s.line.Ahead(r.Priority)) != nil {
		s.leave(r, i, Refused)
		return
	}
	s.expire()
	if s.line.Push(r, s.now) != nil {
		s.leave(r, i, Rejected)
		return
	}
	s.came = append(s.came, i)
	s.look()
}

// request is a request as a front end makes it.
func (s *simulation) request(a *Arrival) *infer.Request {
	var r *infer.Request
	if n := len(s.spare); n > 0 {
		r, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		r = infer.NewUnpooled()
	}
	r.Batch, r.Priority, r.TimeoutMicros = a.Rows, a.Priority, uint64(a.Timeout.Microseconds())
	r.Times = infer.Times{Received: s.now, Queued: s.now}
	s.shapes.set(r, a.Shape)
	return r
}

func (s *simulation) leave(r *infer.Request, i int, o Outcome) {
	s.result.Outcomes[i] = o
	s.spare = append(s.spare, r)
}

func (s *simulation) expire() {
	s.line.Expire(s.now, &s.expired)
	for r := s.expired.Pop(); r != nil; r = s.expired.Pop() {
		s.leave(r, s.came[r.Place.Turn], Expired)
	}
}

// look gives batches to idle instances as long as some are due.
func (s *simulation) look() {
	s.expire()
	s.due = forever
	for len(s.idle) > 0 && s.line.Len() > 0 {
		cut := s.line.Next(s.now, false)
		if cut.Count == 0 {
			if cut.At != 0 {
				s.due = cut.At
			}
			return
		}
		s.begin(cut)
	}
}

// begin runs a batch on the instance that was idle last.
func (s *simulation) begin(cut scheduler.Cut) {
	last := len(s.idle) - 1
	n := s.idle[last]
	s.idle = s.idle[:last]
	i := &s.busy[n]
	first := len(s.members)
	for range cut.Count {
		r := s.line.Pop()
		r.Times.ComputeStart = s.now
		i.batch.Add(r)
		s.members = append(s.members, s.came[r.Place.Turn])
	}
	i.did = scheduler.Ran{Why: cut.Why, Begin: s.now, End: s.now + int64(s.model.Cost(i.batch.Rows))}
	i.index = len(s.result.Batches)
	s.result.Batches = append(s.result.Batches, Batch{
		Start: time.Duration(s.now), End: time.Duration(i.did.End), Instance: n,
		Rows: i.batch.Rows, Why: cut.Why, Members: s.members[first:len(s.members):len(s.members)],
	})
	if s.model.Observer != nil {
		s.model.Observer.Began(n, &i.batch, s.now)
	}
}

// end answers the batches that are over.
func (s *simulation) end() {
	for n := range s.busy {
		i := &s.busy[n]
		if i.did.End > s.now {
			continue
		}
		if s.model.Observer != nil {
			s.model.Observer.Ended(n, &i.batch, i.did)
		}
		for _, a := range s.result.Batches[i.index].Members {
			s.result.Outcomes[a] = Answered
			s.result.Latency[a] = time.Duration(s.now) - s.trace[a].At
		}
		s.spare = append(s.spare, i.batch.Requests...)
		i.batch.Reset()
		i.did.End = forever
		s.idle = append(s.idle, n)
	}
}
