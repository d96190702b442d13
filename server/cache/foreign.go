package cache

import (
	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// copyForeign copies inputs in memory of the client, which may change them at any time:
// the bytes that are hashed must be those that the backend computes with. It reports
// false if the memory no longer exists; then the request is not cached and its backend
// reports the error.
func copyForeign(p *tensor.Pool, inputs []kserve.Tensor) bool {
	for i := range inputs {
		d := &inputs[i].Data
		if !foreign(d) {
			continue
		}
		b, err := p.TryGet(d.Len())
		if err != nil {
			return false
		}
		if !tensor.CopyShared(b.Bytes(), d) {
			b.Release()
			return false
		}
		p.CopiedToModel(d.Len())
		d.Release()
		*d = tensor.NewData(b)
	}
	return true
}

// foreign reports whether a part of the data is in memory of the client.
func foreign(d *tensor.Data) bool {
	for i := range d.Segments() {
		if d.Segment(i).Buffer.Foreign() {
			return true
		}
	}
	return false
}

// immutable reports whether no client can change the response any more: backends may
// have written outputs into memory of the client.
func immutable(resp *infer.Response) bool {
	for i := range resp.Outputs {
		if foreign(&resp.Outputs[i].Data) {
			return false
		}
	}
	return true
}
