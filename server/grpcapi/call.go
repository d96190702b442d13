package grpcapi

import (
	"sync"

	"triton/pkg/kserve"
	"triton/server/access/policy"
	"triton/server/connlimit"
	"triton/server/frontend"
	"triton/server/infer"
)

// call is one request of a stream. It is the sink for its responses.
type call struct {
	stream    *stream
	request   *infer.Request
	model     infer.Model // nil when it was not found
	trace     *frontend.Trace
	decoupled bool
	// As the client sent them; the core fills in the version.
	name, version, id string
	emptyFinal        bool
	bytes             int // of the inputs
	charge            charge
	lease             policy.Lease // in the quotas of the caller

	// Under the stream's lock.
	done        bool     // the final response has arrived
	closing     bool     // stream.close still uses the call
	answered    bool     // a response has arrived
	overflowed  bool     // its responses exceed the limit of unread ones
	ordered     outgoing // the one response of a model that is not decoupled
	nextInOrder *call    // the next call of a model that is not decoupled, in request order
	next, prev  *call    // in flight
}

// outgoing is one response to be written.
type outgoing struct {
	call  *call
	resp  *infer.Response // nil: the end of the responses
	err   error           // the request was refused; resp is nil
	final bool
	last  bool // it ends the call
}

// release releases a response that is not written.
func (o *outgoing) release() {
	if o.resp != nil {
		o.resp.Release()
		o.resp = nil
	}
}

func (o *outgoing) size() int {
	if o.resp == nil {
		return 0
	}
	return o.resp.Size()
}

func dataSize(ts []kserve.Tensor) int {
	n := 0
	for i := range ts {
		n += ts[i].Data.Len()
	}
	return n
}

var pooledCalls = sync.Pool{New: func() any { return &call{} }}

func newCall(s *stream, r *infer.Request) *call {
	c := pooledCalls.Get().(*call)
	*c = call{
		stream: s, request: r, name: r.ModelName, version: r.ModelVersion, id: r.ID,
		emptyFinal: r.EmptyFinal, bytes: dataSize(r.Inputs),
	}
	return c
}

// free releases a call that nothing refers to any more.
func (c *call) free() {
	c.ordered.release()
	c.request.Release()
	if c.model != nil {
		c.model.Release()
	}
	c.trace.Close()
	c.charge.end()
	c.lease.Release()
	*c = call{}
	pooledCalls.Put(c)
}

// refuse answers a request that no model has accepted.
func (c *call) refuse(err error) { c.put(outgoing{call: c, err: err, final: true}) }

// Send receives a response of the model.
func (c *call) Send(resp *infer.Response, final bool) {
	testDelay(c.stream.service.opts.Delays.Complete)
	c.put(outgoing{call: c, resp: resp, final: final})
}

func (c *call) put(o outgoing) {
	if c.queue(o) {
		c.request.Cancel()
	}
}

// queue adds a response for the writer. It reports whether to cancel the request, because
// the client reads too slowly and no more of its responses are kept.
func (c *call) queue(o outgoing) (cancel bool) {
	s := c.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.answered && o.err == nil {
		c.trace.Answered(0)
	}
	c.done = o.final
	if s.closed {
		o.release()
		if c.done && !c.closing {
			s.inFlight.remove(c)
			c.free()
		}
		return false
	}
	if s.aborted != nil { // close frees the call
		o.release()
		return !o.final
	}
	c.answered = true
	switch {
	case c.decoupled:
		cancel = c.addUnread(&o)
		if c.overflowed && !o.final {
			return cancel
		}
		s.push(o)
	case s.strict && o.resp != nil && o.resp.Err != nil:
		s.ready = append(s.ready, o) // ends the stream at once, out of order
	default:
		c.holdInOrder(o)
		s.advance()
	}
	s.signal()
	return cancel
}

// addUnread counts a response of a decoupled model. If it exceeds the limit, the
// client's last response is an error, and addUnread reports true once.
func (c *call) addUnread(o *outgoing) (full bool) {
	s := c.stream
	if !c.overflowed && o.resp != nil {
		full = !s.unread.TryAdd(o.resp)
		c.overflowed = full
	}
	if c.overflowed {
		o.release()
		if o.final {
			o.resp = infer.NewResponse()
			o.resp.Err = s.unread.Err()
			s.unread.Add(o.resp)
		}
	}
	return full && !o.final
}

// push queues a response to be written in the order of arrival.
func (s *stream) push(o outgoing) {
	o.last = o.final
	s.heldBytes += o.size()
	s.ready = append(s.ready, o)
}

// holdInOrder holds the one response of a model that is not decoupled until all earlier
// requests are answered. The client gets the final flag that the response came with, even
// if the end arrives separately.
func (c *call) holdInOrder(o outgoing) {
	if c.ordered.resp != nil {
		o.release()
		return
	}
	c.ordered = o
	c.stream.heldBytes += o.size()
	if o.resp != nil {
		c.stream.unread.Add(o.resp)
	}
}

// advance queues complete responses that wait for no earlier request.
func (s *stream) advance() {
	for c := s.first; c != nil && c.done; c = s.first {
		if s.first = c.nextInOrder; s.first == nil {
			s.last = nil
		}
		c.ordered.last = true
		s.ready = append(s.ready, c.ordered)
		c.ordered = outgoing{}
	}
}

// calls is a list of calls.
type calls struct {
	head *call
	n    int
	use  *connlimit.Conn // counts them: a stream without calls is idle
}

func (l *calls) add(c *call) {
	if c.next = l.head; c.next != nil {
		c.next.prev = c
	}
	l.head = c
	l.n++
	l.use.Begin()
}

func (l *calls) remove(c *call) {
	if c.prev == nil {
		l.head = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.next, c.prev = nil, nil
	l.n--
	l.use.End()
}
