package python

import (
	"strconv"
	"sync"

	"triton/pkg/kserve"
	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/backend/child"
	"triton/server/infer"
)

// call is a request of the model to a model of the server. It is the request's Sink, which
// only queues; a goroutine copies the responses to memory of the child and sends them.
type call struct {
	events    *events
	process   *child.Process
	id        uint32
	decoupled bool // the model takes any number of responses
	request   *infer.Request
	wake      chan struct{} // has room for one
	out       child.Message

	mu struct {
		sync.Mutex
		queue     []delivery
		abandoned bool // no caller of the model is left, or the child has ended
	}
}

// delivery is one response.
type delivery struct {
	resp  *infer.Response
	final bool
}

var _ infer.Sink = (*call)(nil)

// call starts a call.
func (e *events) call(p *child.Process, r *child.Reader) {
	c := &call{events: e, process: p, wake: make(chan struct{}, 1)}
	c.id, c.decoupled = r.Uint32(), r.Uint8() != 0
	model, version := r.String(), int64(r.Uint64())
	c.request = e.newRequest(r.Uint64())
	err := e.readRequest(r, c.request)
	if r.Err() != nil {
		c.drop()
		c.request.Release()
		return
	}
	e.mu.Lock()
	e.mu.calls[c.id] = c
	e.watchCalls()
	e.mu.Unlock()
	go c.run(model, version, err)
}

// newRequest returns a request. Its trace is a part of that of the open request with the
// number parent, if there is one.
func (e *events) newRequest(parent uint64) *infer.Request {
	p := e.borrow(parent)
	if p == nil {
		return infer.NewRequest()
	}
	defer p.Release()
	r := p.Child()
	r.Priority, r.Parameters = 0, r.Parameters[:0]
	return r
}

// readRequest reads the fields, the requested outputs and the inputs of a request.
func (e *events) readRequest(r *child.Reader, to *infer.Request) (err error) {
	to.ID = r.String()
	text := r.Uint8() != 0
	to.SequenceID, to.SequenceIDStr = r.Uint64(), r.String()
	if text {
		to.SequenceID = 0
	}
	flags := r.Uint32()
	to.SequenceStart, to.SequenceEnd = flags&flagSequenceStart != 0, flags&flagSequenceEnd != 0
	to.TimeoutMicros = r.Uint64()
	if params := r.Next(uint64(r.Uint32())); len(params) > 0 {
		to.Parameters, err = parseParameters(to.Parameters, params)
	}
	for range r.Uint32() {
		if r.Err() != nil {
			return r.Err()
		}
		to.Outputs = append(to.Outputs, kserve.RequestedOutput{Name: r.String(), Binary: true})
	}
	for range r.Uint32() {
		if r.Err() != nil {
			return r.Err()
		}
		if wrong := e.tensor(r, to.AddInput(), nil); wrong != nil && err == nil {
			err = wrong
		}
	}
	return err
}

// run makes the call and sends its responses to the child.
func (c *call) run(model string, version int64, err error) {
	defer c.request.Release()
	defer c.contain()
	if err == nil {
		err = c.submit(model, version)
	} else {
		c.drop()
	}
	if err != nil {
		c.end(failed(status.New(status.Internal, "Model %s - Error when running inference: %w", model, err)))
		return
	}
	for ended, abandoned := false, false; !ended; {
		var d delivery
		if d, abandoned = c.next(abandoned); !abandoned {
			c.send(d)
		} else if d.resp != nil {
			d.resp.Release()
		}
		ended = d.final
	}
}

// contain ends a call after a panic.
func (c *call) contain() {
	if p := recover(); p != nil {
		log.Panicked(c.events.log.log, "panic while a Python model called another model", p, "model", c.events.log.model, "instance", c.events.log.instance)
		c.end(failed(status.New(status.Internal, "internal error while the model was called; the server's log has the details")))
	}
}

// drop releases the core's reference to a request that is not submitted.
func (c *call) drop() { c.request.Release() }

// submit gives the request to its model, which is held until the final response.
func (c *call) submit(name string, version int64) error {
	text := ""
	if version != -1 {
		text = strconv.FormatInt(version, 10)
	}
	var m infer.Callee
	var err error
	if models := c.events.model.models; models != nil {
		m, err = models.Acquire(name, text)
	}
	if m == nil || err != nil {
		c.drop()
		return status.New(status.Internal, "Failed for execute the inference request. Model '%s' is not ready.", name)
	}
	refuse := func(err error) error {
		m.Release()
		c.drop()
		return err
	}
	if !m.Ready() || m.CheckReady() != nil {
		return refuse(status.New(status.Internal, "Failed for execute the inference request. Model '%s' is not ready.", name))
	}
	if !c.decoupled && m.Config().Decoupled() {
		return refuse(status.New(status.Internal, "Model %s is using the decoupled. The current BLS request call doesn't support models using the decoupled transaction policy. Please use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for decoupled models.'", name))
	}
	c.request.Sink = &holding{c, m}
	if err := m.Submit(c.request); err != nil {
		m.Release()
		return err
	}
	return nil
}

// holding is a call that holds its model.
type holding struct {
	*call
	model infer.Callee
}

// Send queues a response.
func (h *holding) Send(resp *infer.Response, final bool) {
	h.call.Send(resp, final)
	if final {
		h.model.Release()
	}
}

// Send queues a response.
func (c *call) Send(resp *infer.Response, final bool) {
	c.mu.Lock()
	c.mu.queue = append(c.mu.queue, delivery{resp, final})
	c.mu.Unlock()
	c.signal()
}

func (c *call) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// next waits for a response and reports whether the call is abandoned. It ends an abandoned
// call for the child, unless the caller knows of it already.
func (c *call) next(known bool) (d delivery, abandoned bool) {
	for {
		c.mu.Lock()
		abandoned = c.mu.abandoned
		if abandoned && !known {
			known = true
			c.mu.Unlock()
			c.end(failed(status.New(status.Cancelled, "the callers of the model have left")))
			continue
		}
		if len(c.mu.queue) > 0 {
			d = c.mu.queue[0]
			c.mu.queue = c.mu.queue[1:]
			c.mu.Unlock()
			return d, abandoned
		}
		c.mu.Unlock()
		<-c.wake
	}
}

// abandon ends a call that was taken out of the table: for the child at once; the model
// that was called is asked to stop.
func (c *call) abandon() {
	defer c.request.Release()
	c.mu.Lock()
	again := c.mu.abandoned
	c.mu.abandoned = true
	c.mu.Unlock()
	if !again {
		c.request.Cancel()
		c.signal()
	}
}

// end sends the final response of a call.
func (c *call) end(resp *infer.Response) { c.send(delivery{resp, true}) }
