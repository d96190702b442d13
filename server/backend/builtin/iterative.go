package builtin

import (
	"context"
	"time"

	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// IterativeSequence is the backend "iterative_sequence": a request with the number n in
// INPUT gets n responses, in which OUTPUT counts down to 0. Each response takes an
// execution of its own, of half a second for each request of the batch, and the request
// is rescheduled between them.
type IterativeSequence struct{}

var (
	_ backend.Backend  = IterativeSequence{}
	_ backend.Model    = (*iterativeModel)(nil)
	_ backend.Instance = (*iterativeInstance)(nil)
)

// Load checks nothing, like NVIDIA's backend.
func (IterativeSequence) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	return &iterativeModel{spec}, nil
}

type iterativeModel struct{ spec backend.Spec }

func (m *iterativeModel) NewInstance(_ context.Context, at backend.Placement) (backend.Instance, error) {
	if err := onlyCPU("iterative_sequence", at); err != nil {
		return nil, err
	}
	return &iterativeInstance{m, map[uint64]int32{}}, nil
}

func (*iterativeModel) Close() error { return nil }

type iterativeInstance struct {
	*iterativeModel
	left map[uint64]int32 // remaining responses by correlation ID
}

// iteration is how long one request takes.
const iteration = 500 * time.Millisecond

func (i *iterativeInstance) Execute(ctx context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	for _, r := range b.Requests {
		if r.Membership.Null {
			continue
		}
		n, err := i.count(r)
		if err != nil {
			r.Fail(err)
			continue
		}
		// An interrupted pause is ignored: the drain that ends ctx answers the
		// rest.
		_ = pause(ctx, iteration, neverAbandoned)
		i.answer(r, n)
	}
	b.OutputStart = infer.Now()
	return nil
}

// count returns how many responses are left after this one.
func (i *iterativeInstance) count(r *infer.Request) (int32, error) {
	if err := requireNumericID(r); err != nil {
		return 0, err
	}
	id := r.SequenceID
	n, ok := i.left[id]
	if !ok || r.SequenceStart { // an earlier sequence with this ID may not have ended
		var err error
		if n, err = number(r, "INPUT"); err != nil {
			return 0, err
		}
	}
	n--
	if n > 0 {
		i.left[id] = n
	} else {
		delete(i.left, id)
	}
	return n, nil
}

// answer sends one response. An error means that the server does not iterate; the
// request ends with it.
func (i *iterativeInstance) answer(r *infer.Request, n int32) {
	if n > 0 {
		if err := r.Reschedule(); err != nil {
			delete(i.left, r.SequenceID)
			r.Fail(err)
			return
		}
	}
	resp := infer.NewResponse()
	shape := tensor.Shape{1, 1}
	if i.spec.Config.GetMaxBatchSize() == 0 {
		shape = shape[:1]
	}
	resp.Err = addNumber(r, resp, "OUTPUT", tensor.Int32, shape, uint32(n))
	r.Respond(resp, n <= 0)
}

func (*iterativeInstance) Close() error { return nil }
