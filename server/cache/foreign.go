package cache

import (
	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// copyForeign replaces inputs in memory of the client by copies. The client may change that
// memory at any time, but the backend must compute with the bytes that were hashed.
// copyForeign reports false if there is no memory for a copy or the client's memory no
// longer exists. Then the request is not cached, and its backend reports the error.
func copyForeign(p *tensor.Pool, inputs []kserve.Tensor) bool {
	for i := range inputs {
		d := &inputs[i].Data
		if !d.Foreign() {
			continue
		}
		b, err := p.TryGet(d.Len())
		if err != nil {
			return false
		}
		if tensor.CopyShared(b.Bytes(), d) != nil {
			b.Release()
			return false
		}
		p.CopiedToModel(d.Len())
		d.Release()
		*d = tensor.NewData(b)
	}
	return true
}

// immutable reports whether no client can change the response any more: backends may
// have written outputs into memory of the client.
func immutable(resp *infer.Response) bool {
	for i := range resp.Outputs {
		if resp.Outputs[i].Data.Foreign() {
			return false
		}
	}
	return true
}
