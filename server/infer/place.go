package infer

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// place puts the outputs that the client wants in shared memory there, and takes
// them out of the response: the region is theirs now, and its owner may change
// it at any time. What the backend has written there itself is not copied.
func (r *Request) place(resp *Response) {
	for i := range r.Outputs {
		into := r.Outputs[i].Into
		if into.Buffer == nil || resp.Err != nil {
			continue
		}
		out := resp.Output(r.Outputs[i].Name)
		if out == nil {
			continue
		}
		n := out.Data.Len()
		if n > into.N {
			resp.Err = status.New(status.Internal,
				"shared memory size specified with the request for output '%s' (%d bytes) should be at least %d bytes to hold the results",
				out.Name, into.N, n)
			return
		}
		if !lies(&out.Data, into) && !tensor.CopyShared(into.Bytes(), &out.Data) {
			resp.Err = status.New(status.Internal,
				"the shared memory specified with the request for output '%s' became smaller than it was", out.Name)
			return
		}
		out.Data.Release()
	}
}

// lies says whether the data begins where the segment does.
func lies(d *tensor.Data, at tensor.Segment) bool {
	if d.Segments() != 1 {
		return false
	}
	s := d.Segment(0)
	return s.Buffer == at.Buffer && s.Off == at.Off
}
