package host

import (
	"slices"
	"sync"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend/child"
	"triton/server/infer"
)

// request is a request of the server in this process: the sink of its responses, the owner
// that lends it to the backend, and its states. Responses of a model that is not decoupled go
// into the result of its batch; others are sent at once.
type request struct {
	*infer.Request
	in        *instance
	id        uint64
	decoupled bool

	mu struct {
		sync.Mutex
		results  bool // the result of the batch was written
		dead     bool // the batch has failed: the server answers
		kept     bool // the backend keeps it
		finished bool // and has finished it
		answered bool
		response *infer.Response // the final one, for the result
		states   []kserve.Tensor // for the result
		said     bool            // the final response of a decoupled model was sent
	}
}

var (
	_ infer.Sink   = (*request)(nil)
	_ infer.Owner  = (*request)(nil)
	_ infer.States = (*request)(nil)
)

// Send sends a response to the server, or keeps it for the result.
func (q *request) Send(resp *infer.Response, final bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.mu.dead:
		if resp != nil {
			resp.Release()
		}
		return
	case !q.decoupled && !q.mu.results && final:
		q.mu.answered, q.mu.response = true, resp
		return
	}
	var m child.Message
	m.Begin(Respond).Uint64(q.id)
	if final {
		m.Uint8(1)
		q.mu.said = true
	} else {
		m.Uint8(0)
	}
	PutResponse(&m, resp, q.in.host.memory)
	if resp != nil {
		resp.Release()
	}
	q.in.host.memory.putReleased(&m)
	q.in.host.post(&m)
}

// result writes what the batch did with the request.
func (q *request) result(m *child.Message) {
	rescheduled := q.Rescheduled()
	if !q.decoupled && !rescheduled {
		q.Deliver()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.results = true
	flags := uint8(0)
	for flag, set := range [...]bool{
		q.mu.answered && !q.Membership.Null, q.KeptExplicitly(), false, rescheduled, q.RespondedAfterFinal(),
	} {
		if set {
			flags |= 1 << flag
		}
	}
	m.Uint8(flags)
	m.Uint32(uint32(len(q.mu.states)))
	for i := range q.mu.states {
		q.putState(m, &q.mu.states[i])
	}
	kserve.ReleaseTensors(q.mu.states)
	q.mu.states = nil
	if flags&Answered != 0 {
		PutResponse(m, q.mu.response, q.in.host.memory)
	}
	if q.mu.response != nil {
		q.mu.response.Release()
		q.mu.response = nil
	}
	if !q.IsKept() {
		q.ReleaseInputs()
	}
}

func (q *request) putState(m *child.Message, t *kserve.Tensor) {
	if err := PutTensor(m, t, q.in.host.memory); err != nil { // not after share, unless the frame is full
		q.in.host.log.Error("a state of a sequence was lost: "+err.Error(), "state", t.Name)
	}
}

// revoke takes the request back from a backend whose call has failed.
func (q *request) revoke(err error) {
	q.mu.Lock()
	q.mu.dead = true
	kserve.ReleaseTensors(q.mu.states)
	q.mu.states = nil
	q.mu.Unlock()
	if q.IsKept() {
		q.Revoke(err)
	}
}

// returned ends the backend's call for the request. The last use may be later.
func (q *request) returned() {
	kept := q.IsKept()
	if kept && q.Rescheduled() {
		q.Suspend()
		kept = false
	}
	if !kept {
		q.forget()
	} else if q.Returned() {
		q.Finished(q.Request)
	}
	q.Release() // two references: that of the frontend and that of the core
	q.Release()
}

// forget takes the request out of the table.
func (q *request) forget() {
	q.in.host.mu.Lock()
	delete(q.in.host.mu.open, q.id)
	q.in.host.mu.Unlock()
}

// Kept records that the backend keeps the request.
func (q *request) Kept(*infer.Request) {}

// Responded and Completed count nothing: the server counts.
func (*request) Responded(*infer.Request, infer.Delivery) {}

// Completed does nothing.
func (*request) Completed(*infer.Request, error) {}

// Finished tells the server that the backend is done with a request that it kept.
func (q *request) Finished(r *infer.Request) {
	q.forget()
	explicit := q.KeptExplicitly()
	r.ReleaseInputs()
	r.Release() // the backend's reference
	q.mu.Lock()
	dead := q.mu.dead
	q.mu.Unlock()
	if dead {
		return
	}
	if explicit {
		var m child.Message
		m.Begin(LetGo).Uint64(q.id)
		q.in.host.memory.putReleased(&m)
		q.in.host.post(&m)
		return
	}
	q.in.host.memory.flush()
}

// Update sends a state of the request's sequence to the server.
func (q *request) Update(output string, d tensor.DataType, shape tensor.Shape, data tensor.Data) error {
	if !slices.Contains(q.in.host.memory.states, output) {
		data.Release()
		return status.New(status.InvalidArg, "state '%s' is not a valid state name.", output)
	}
	if data.Len() > child.InlineBytes {
		var err error
		if data, err = q.in.host.memory.share(data); err != nil {
			return status.New(status.Internal, "no memory for state '%s': %w", output, err)
		}
	}
	t := kserve.Tensor{Name: output, DataType: d, Shape: shape.Clone(), Data: data}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.mu.dead:
		t.Data.Release()
	case !q.mu.results:
		q.mu.states = append(q.mu.states, t)
	default:
		var m child.Message
		m.Begin(State).Uint64(q.id)
		q.putState(&m, &t)
		t.Data.Release()
		q.in.host.post(&m)
	}
	return nil
}

// stateNames returns the outputs that name states.
func stateNames(c *inferencepb.ModelConfig) (all []string) {
	for _, s := range c.GetSequenceBatching().GetState() {
		all = append(all, s.GetOutputName())
	}
	return all
}
