package isolated

import (
	"time"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/backend/isolated/host"
	"triton/server/infer"
)

// openRequest is a request that the backend in the child has not finished. The code that takes
// it out of the table ends it. It is running until the result of its batch is applied; the
// core answers the running requests of a child that has ended.
type openRequest struct {
	r         *infer.Request
	in        *instance
	running   bool
	kept      bool // LetGo is owed
	answered  bool // the final response was sent
	cancelled bool // the child was told that nobody waits
}

// open enters the requests of a batch and returns the number of the first.
func (s *session) open(in *instance, requests []*infer.Request) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.mu.lastOpen + 1
	for _, r := range requests {
		s.mu.lastOpen++
		s.mu.open[s.mu.lastOpen] = openRequest{r: r, in: in, running: true}
	}
	if !s.mu.watching {
		s.mu.watching = true
		s.timer.Reset(watchInterval)
	}
	return first
}

// busy reports whether a batch runs.
func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.mu.open {
		if q.running {
			return true
		}
	}
	return false
}

// discard takes a batch that has failed out of the table. The core answers its requests.
func (s *session) discard(first uint64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range n {
		delete(s.mu.open, first+uint64(i))
	}
}

// conclude answers a request with the result of its batch. It leaves a kept request, and one of
// a decoupled model that has more responses, in the table.
func (s *session) conclude(id uint64, r *infer.Request, o *outcome) {
	for i := range o.states {
		t := &o.states[i]
		d := t.Data // UpdateState owns it
		t.Data = tensor.Data{}
		if err := backend.UpdateState(r, t.Name, t.DataType, t.Shape, d); err != nil {
			s.log.log.Error("a state of a sequence was lost", "model", s.name, "state", t.Name, "error", err)
		}
	}
	if r.Membership.Null { // the core keeps none
		o.flags &^= host.Kept
	}
	kept := o.flags&host.Kept != 0
	if kept {
		r.Keep()
	}
	if o.flags&host.Answered != 0 {
		r.Respond(o.response, true)
		if o.flags&host.Repeated != 0 {
			r.Respond(nil, true) // dropped and reported
		}
	}
	rescheduled := o.flags&host.Rescheduled != 0 // the child is done with it, kept or not
	if rescheduled {
		if err := r.Reschedule(); err != nil {
			r.Fail(err)
			if kept {
				r.LetGo()
			}
		}
	}
	s.settle(id, o, rescheduled || !kept && (!s.decoupled || r.Membership.Null))
}

// settle records that the result of a request is applied. It takes the request out of the table
// if the child is done with it, or has ended meanwhile.
func (s *session) settle(id uint64, o *outcome, done bool) {
	s.mu.Lock()
	q := s.mu.open[id]
	if q.r == nil { // it was taken out
		s.mu.Unlock()
		return
	}
	q.running, q.kept = false, o.flags&host.Kept != 0
	q.answered = q.answered || o.flags&host.Answered != 0
	done = done || q.answered && !q.kept
	over := s.mu.ended && !done
	if done || over {
		delete(s.mu.open, id)
	} else {
		s.mu.open[id] = q
	}
	s.mu.Unlock()
	if over {
		q.fail(s.err)
	}
}

// fail ends a request whose child has ended.
func (q openRequest) fail(err error) {
	if !q.answered {
		q.r.Fail(err)
	}
	if q.kept {
		q.r.LetGo()
	}
}

// awaitApplied waits until the results that have arrived are applied.
func (s *session) awaitApplied() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.mu.instances {
		for in.applying {
			s.mu.applied.Wait()
		}
	}
}

// applied lets the frames behind a result go on.
func (s *session) applied(in *instance) {
	s.mu.Lock()
	in.applying = false
	s.mu.applied.Broadcast()
	s.mu.Unlock()
}

// result hands the result of a batch to its instance.
func (s *session) result(r *child.Reader) {
	number := r.Uint32()
	s.mu.Lock()
	in := s.mu.instances[number]
	wrong := in == nil || in.applying || in.runs.Load()%2 == 0
	if !wrong {
		in.applying = true
	}
	s.mu.Unlock()
	if wrong {
		malformed(r)
		return
	}
	if cap(in.body) > keepBody {
		in.body = nil
	}
	in.body = append(in.body[:0], r.Next(uint64(r.Len()))...)
	in.results <- struct{}{}
}

// keepBody is the largest body whose memory is kept for the next result.
const keepBody = 1 << 20

// malformed makes a frame one whose body cannot be read, so that it ends the child.
func malformed(r *child.Reader) { r.Next(1 << 62) }

// settled returns an open request once the result of its batch, if it has arrived, is applied.
// It reports false if there is none. The caller holds the lock.
func (s *session) settled(id uint64) (openRequest, bool) {
	for {
		q, ok := s.mu.open[id]
		if !ok || !q.in.applying {
			return q, ok
		}
		s.mu.applied.Wait()
	}
}

// respond sends a response that is in no result.
func (s *session) respond(r *child.Reader) {
	id, final := r.Uint64(), r.Uint8() != 0
	resp := host.ReadResponse(r, s)
	s.released(r)
	s.mu.Lock()
	q, open := s.settled(id)
	if open && final && q.running && !s.decoupled { // that is in the result
		malformed(r)
	}
	switch {
	case r.Err() != nil, !open: // it was answered without the child
		s.mu.Unlock()
		if resp != nil {
			resp.Release()
		}
		return
	case !final:
	case q.kept || q.running: // LetGo or the result takes it out
		q.answered = true
		s.mu.open[id] = q
	default:
		delete(s.mu.open, id)
	}
	q.r.Retain()
	s.mu.Unlock()
	q.r.Respond(resp, final)
	q.r.Release()
}

// letGo ends the use of a request that the backend kept. A child says so once, after the result and
// the final response.
func (s *session) letGo(r *child.Reader) {
	id := r.Uint64()
	s.released(r)
	if r.Err() != nil {
		return
	}
	s.mu.Lock()
	q, open := s.settled(id)
	wrong := open && (q.running || !q.kept || !q.answered)
	if !wrong {
		delete(s.mu.open, id)
	}
	s.mu.Unlock()
	switch {
	case wrong:
		malformed(r)
	case open:
		q.r.LetGo()
	}
}

// state sets a state outside of a result.
func (s *session) state(r *child.Reader) {
	id := r.Uint64()
	var t kserve.Tensor
	err := host.ReadOutput(r, &t, s)
	s.mu.Lock()
	q, open := s.settled(id)
	s.mu.Unlock()
	if err != nil || r.Err() != nil || !open {
		t.Data.Release()
		return
	}
	_ = backend.UpdateState(q.r, t.Name, t.DataType, t.Shape, t.Data) // the child has checked the name
}

// failKept answers the kept requests of a child that has ended.
func (s *session) failKept(err error) {
	for _, q := range s.take(func(q openRequest) bool { return !q.running }) {
		q.fail(err)
	}
}

// abandon takes the requests of a closed instance out of the table. The core takes them back.
func (s *session) abandon(in *instance) {
	s.take(func(q openRequest) bool { return q.in == in })
}

// take takes the requests out of the table for which which returns true.
func (s *session) take(which func(openRequest) bool) (all []openRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, q := range s.mu.open {
		if which(q) {
			delete(s.mu.open, id)
			all = append(all, q)
		}
	}
	return all
}

// watchInterval is how often open requests are checked for callers that have left.
const watchInterval = 3 * time.Millisecond

// watch tells the child of requests whose callers have left. It runs on a timer while there
// are open requests.
func (s *session) watch() {
	var m child.Message
	n := uint32(0)
	s.mu.Lock()
	s.mu.watching = len(s.mu.open) > 0 && !s.mu.ended
	if s.mu.watching {
		s.timer.Reset(watchInterval)
	}
	for id, q := range s.mu.open {
		if q.cancelled || q.r.Membership.Null || !q.r.Cancelled() {
			continue
		}
		q.cancelled = true
		s.mu.open[id] = q
		if n == 0 {
			m.Begin(host.Cancel).Uint32(0)
		}
		m.Uint64(id)
		n++
	}
	s.mu.Unlock()
	if n > 0 {
		m.PutUint32(8, n)
		_ = s.process.Post(&m) // the body is short
	}
}

// errEnded is the error of the requests of a child that has ended.
func errEnded(name, cause string, exit *child.Exit) error {
	return &status.Error{Code: status.Unavailable, Msg: "the process of model '" + name + "' ended: " + cause, Cause: exit}
}
