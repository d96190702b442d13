package sequence

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// newNullRequest returns a null request for the model of pattern. prepare adds its inputs.
func newNullRequest(pattern *infer.Request) *infer.Request {
	r := infer.NewRequest()
	r.Release() // the frontend's reference
	r.Membership.Null = true
	r.ModelName, r.ModelVersion, r.Batch, r.Pool = pattern.ModelName, pattern.ModelVersion, pattern.Batch, pattern.Pool
	r.Sink = discardSink{}
	return r
}

// discardSink releases the answers of null requests.
type discardSink struct{}

func (discardSink) Send(resp *infer.Response, _ bool) {
	if resp != nil {
		resp.Release()
	}
}

// addNullInputs gives a null request inputs with the names, types and shapes of a pattern.
// The values are zeros or empty strings; all are in one buffer of the instance.
func (s *Source) addNullInputs(inst *instance, r, pattern *infer.Request) error {
	need := 0
	for i := range pattern.Inputs {
		need = max(need, nullInputBytes(pattern, i))
	}
	if err := inst.growZeros(s.pool, need); err != nil {
		return err
	}
	for i := range pattern.Inputs {
		p, in := &pattern.Inputs[i], r.AddInput()
		in.Name, in.DataType, in.Shape = p.Name, p.DataType, append(in.Shape, p.Shape...)
		in.Data = tensor.SliceData(inst.zeros, 0, nullInputBytes(pattern, i))
	}
	return nil
}

// nullInputBytes returns the size of an input of a null request.
func nullInputBytes(pattern *infer.Request, i int) int {
	p := &pattern.Inputs[i]
	if p.DataType != tensor.Bytes {
		return p.Data.Len()
	}
	n, err := p.Shape.Elements()
	if err != nil {
		return 0 // unreachable: the shape was checked
	}
	return 4 * int(n)
}

// growZeros ensures that inst.zeros has at least n bytes.
func (inst *instance) growZeros(pool *tensor.Pool, n int) error {
	if inst.zeros != nil && inst.zeros.Len() >= n {
		return nil
	}
	zeros, err := pool.TryGetZeroed(n)
	if err != nil {
		return status.New(status.Unavailable, "no memory for the empty rows of a batch: %w", err)
	}
	inst.freeZeros()
	inst.zeros = zeros
	return nil
}

func (inst *instance) freeZeros() {
	if inst.zeros != nil {
		inst.zeros.Release()
	}
}
