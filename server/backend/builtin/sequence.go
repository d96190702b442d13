package builtin

import (
	"context"
	"time"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

// Sequence is the backend "sequence": the sum of all elements of INPUT over a sequence,
// in every element of OUTPUT. It has a sum for each row of a batch, so its model must
// use the direct strategy. The controls are START and READY.
//
// Parameter: execute_delay_ms.
type Sequence struct{}

var (
	_ backend.Backend  = Sequence{}
	_ backend.Model    = (*sequenceModel)(nil)
	_ backend.Instance = (*sequenceInstance)(nil)
)

// Load checks the configuration.
func (Sequence) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	if err := check("sequence", spec.Config); err != nil {
		return nil, err
	}
	delay := count(spec.Config, "execute_delay_ms")
	return &sequenceModel{spec, time.Duration(delay) * time.Millisecond}, nil
}

type sequenceModel struct {
	spec  backend.Spec
	delay time.Duration
}

func (m *sequenceModel) NewInstance(_ context.Context, at backend.Placement) (backend.Instance, error) {
	if err := onlyCPU("sequence", at); err != nil {
		return nil, err
	}
	return &sequenceInstance{m, make([]int32, max(1, m.spec.Config.GetMaxBatchSize()))}, nil
}

func (*sequenceModel) Close() error { return nil }

type sequenceInstance struct {
	*sequenceModel
	sums []int32 // of each row
}

func (i *sequenceInstance) Execute(ctx context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	if len(b.Requests) > len(i.sums) {
		return status.New(status.Unsupported, "unable to execute batch larger than max-batch-size")
	}
	if err := pause(ctx, i.delay, neverAbandoned); err != nil {
		return err
	}
	answerEach(b, i.answer)
	return nil
}

func (i *sequenceInstance) answer(row int, r *infer.Request) (*infer.Response, error) {
	if err := requireNumericID(r); err != nil {
		return nil, err
	}
	if err := requireSingleStep(i.spec.Config.GetMaxBatchSize() > 0, r); err != nil {
		return nil, err
	}
	start, err := flag(r, "START")
	if err != nil {
		return nil, err
	}
	ready, err := flag(r, "READY")
	if err != nil {
		return nil, err
	}
	step, err := sum(r)
	if err != nil {
		return nil, err
	}
	if !ready {
		return infer.NewResponse(), nil
	}
	if start {
		i.sums[row] = 0
	}
	i.sums[row] += step
	return filled(r, i.sums[row])
}

func (*sequenceInstance) Close() error { return nil }
