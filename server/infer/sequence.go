package infer

import (
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Membership is a request's part in a sequence. The zero value is a request without a
// sequence.
type Membership struct {
	// Null marks a request that only fills a row of the batch, because the sequence of
	// that row has no request. It is not counted and its response is discarded. Backends
	// need not answer it, and must not answer it after their call.
	Null bool
	// States are the implicit states of the sequence; nil when the model has none.
	States States
	// Sequence is the scheduler's own record of the sequence.
	Sequence any

	iterative   bool
	rescheduled bool
}

// States are the implicit states of one sequence. They are used only by the instance that
// runs a request of the sequence.
type States interface {
	// Update sets the value of a state for the next request of the sequence. The state is
	// named by its output; the data moves in.
	Update(output string, d tensor.DataType, shape tensor.Shape, data tensor.Data) error
}

// Extra appends a tensor that the scheduler adds to the client's inputs: a control input
// or a state. It is released with the inputs.
func (r *Request) Extra() *kserve.Tensor {
	r.extra = append(r.extra, kserve.Tensor{})
	return &r.extra[len(r.extra)-1]
}

// Extras returns the tensors that the scheduler has added.
func (r *Request) Extras() []kserve.Tensor { return r.extra }

// DropExtras releases the added tensors before a request runs again.
func (r *Request) DropExtras() {
	kserve.ReleaseTensors(r.extra)
	clear(r.extra)
	r.extra = r.extra[:0]
}

// Input returns an input by name, of the client or added by the scheduler; nil when there
// is none.
func (r *Request) Input(name string) *kserve.Tensor {
	if t := r.Request.Input(name); t != nil {
		return t
	}
	for i := range r.extra {
		if r.extra[i].Name == name {
			return &r.extra[i]
		}
	}
	return nil
}

// InputNear is Input with a guess of the input's index.
func (r *Request) InputNear(i int, name string) *kserve.Tensor {
	if i < len(r.Inputs) && r.Inputs[i].Name == name {
		return &r.Inputs[i]
	}
	return r.Input(name)
}

// AllowReschedule lets backends reschedule the request. The scheduler of iterative
// sequences calls it.
func (r *Request) AllowReschedule() { r.Membership.iterative = true }

// MayReschedule reports whether backends may reschedule the request.
func (r *Request) MayReschedule() bool { return r.Membership.iterative }

// Reschedule makes the request run again in a later batch. A backend calls it during
// Execute instead of sending the final response. After an error the backend must still
// answer.
func (r *Request) Reschedule() error {
	if !r.Membership.iterative {
		return status.New(status.InvalidArg,
			"Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.")
	}
	r.Membership.rescheduled = true
	return nil
}

// Rescheduled reports whether the backend rescheduled the request and did not answer it.
// Only the core may call it, after the backend's call.
func (r *Request) Rescheduled() bool {
	if !r.Membership.rescheduled {
		return false
	}
	if r.IsKept() {
		return !r.Ended() // an aborted request still has to be finished
	}
	return r.State() != Answered
}

// PrepareRequeue resets a rescheduled request to its state before it was queued.
func (r *Request) PrepareRequeue() {
	r.Membership.rescheduled = false
	r.reply.hold, r.reply.late = notHeld, false
	r.state.Store(uint32(Decoded))
}
