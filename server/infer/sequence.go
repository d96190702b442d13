package infer

import (
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Member is what a request is to an engine beyond its own tensors when its
// model keeps sequences. The zero value is a request of no sequence.
type Member struct {
	// Null says that the request fills a row of the batch in which no sequence
	// has a request. Nobody waits for its answer and it is not counted; engines
	// need not answer it, and must not after their call.
	Null bool
	// States are the implicit states of the sequence; nil when the model has none.
	States States
	// Of is the scheduler's own note of the sequence.
	Of any

	iterative   bool
	rescheduled bool
}

// States are the implicit states of one sequence. An instance that runs one of
// its requests is the only user.
type States interface {
	// Update makes data the value of a state, named by its output, that the next
	// request of the sequence gets as the state's input. The data moves in.
	Update(output string, d tensor.DataType, shape tensor.Shape, data tensor.Data) error
}

// Extra appends a tensor that the scheduler gives to the engine beside the
// client's inputs: a control, a state. It is released with the inputs.
func (r *Request) Extra() *kserve.Tensor {
	r.extra = append(r.extra, kserve.Tensor{})
	return &r.extra[len(r.extra)-1]
}

// Extras are the tensors that the scheduler has added.
func (r *Request) Extras() []kserve.Tensor { return r.extra }

// DropExtras releases what the scheduler has added, before a request runs
// again.
func (r *Request) DropExtras() {
	kserve.ReleaseTensors(r.extra)
	clear(r.extra)
	r.extra = r.extra[:0]
}

// Input is an input by name: the client's or one that the scheduler has added;
// nil when there is none.
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

// InputNear is Input for an input that most likely stands at index i.
func (r *Request) InputNear(i int, name string) *kserve.Tensor {
	if i < len(r.Inputs) && r.Inputs[i].Name == name {
		return &r.Inputs[i]
	}
	return r.Input(name)
}

// Iterate lets engines reschedule the request. The scheduler of iterative
// sequences calls it.
func (r *Request) Iterate() { r.Member.iterative = true }

// Reschedule is what an engine calls in place of a final response, while
// Execute runs, to get the request again in a later batch. After an error the
// request is still the engine's to answer.
func (r *Request) Reschedule() error {
	if !r.Member.iterative {
		return status.New(status.InvalidArg,
			"Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.")
	}
	r.Member.rescheduled = true
	return nil
}

// Rescheduled says whether the engine wants the request again and has not
// answered it finally all the same. Only the core may ask, once the engine's call
// is over.
func (r *Request) Rescheduled() bool {
	if !r.Member.rescheduled {
		return false
	}
	if r.IsKept() {
		return !r.Ended() // one that was aborted is still to be closed
	}
	return r.State() != Answered
}

// Again brings a rescheduled request back to where it was before it was queued.
func (r *Request) Again() {
	r.Member.rescheduled = false
	r.reply.hold, r.reply.late = false, false
	r.state.Store(uint32(Decoded))
}
