package sequence

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// null is a request that fills a row. prepare gives it its inputs.
func null(pattern *infer.Request) *infer.Request {
	r := infer.NewRequest()
	r.Release() // there is no front end
	r.Member.Null = true
	r.ModelName, r.ModelVersion, r.Batch, r.Pool = pattern.ModelName, pattern.ModelVersion, pattern.Batch, pattern.Pool
	r.Sink = nobody{}
	return r
}

// nobody waits for the answers of null requests.
type nobody struct{}

func (nobody) Send(resp *infer.Response, _ bool) {
	if resp != nil {
		resp.Release()
	}
}

// blank gives a null request inputs like those of a pattern: zeros, and empty
// strings. All share one piece of memory.
func (s *Source) blank(b *bench, r, pattern *infer.Request) error {
	need := 0
	for i := range pattern.Inputs {
		need = max(need, blankBytes(pattern, i))
	}
	if err := b.grow(s.pool, need); err != nil {
		return err
	}
	for i := range pattern.Inputs {
		p, in := &pattern.Inputs[i], r.AddInput()
		in.Name, in.DataType, in.Shape = p.Name, p.DataType, append(in.Shape, p.Shape...)
		in.Data = tensor.SliceData(b.zeros, 0, blankBytes(pattern, i))
	}
	return nil
}

// blankBytes is the size of an input of a null request.
func blankBytes(pattern *infer.Request, i int) int {
	p := &pattern.Inputs[i]
	if p.DataType != tensor.Bytes {
		return p.Data.Len()
	}
	n, err := p.Shape.Elements()
	if err != nil {
		return 0 // it was checked
	}
	return 4 * int(n)
}

// grow makes room for n zeros.
func (b *bench) grow(pool *tensor.Pool, n int) error {
	if b.zeros != nil && b.zeros.Len() >= n {
		return nil
	}
	zeros, err := pool.TryGetZeroed(n)
	if err != nil {
		return status.New(status.Unavailable, "no memory for the empty rows of a batch: %w", err)
	}
	b.free()
	b.zeros = zeros
	return nil
}

func (b *bench) free() {
	if b.zeros != nil {
		b.zeros.Release()
	}
}
