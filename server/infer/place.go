package infer

import (
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// place puts the outputs that the client wants in shared memory there, and takes
// them out of the response: the region is theirs now, and its owner may change
// it at any time. What the backend has written there itself is not copied. After
// the final response the request does not hold the regions any more, so that a
// client which has its answer can unregister them.
func (r *Request) place(resp *Response, final bool) {
	for i := range r.Outputs {
		o := &r.Outputs[i]
		if o.Into.Buffer == nil {
			continue
		}
		back := final || holds(resp, o) // else the engine may be writing there, for a response to come
		if resp.Err == nil {
			resp.Err = r.placeOutput(o, resp)
		}
		if back {
			o.Return()
		}
		if final {
			o.Release()
		}
	}
}

func (r *Request) placeOutput(o *kserve.RequestedOutput, resp *Response) error {
	out := resp.Output(o.Name)
	if out == nil {
		return nil
	}
	if n := out.Data.Len(); n > o.Into.N {
		return status.New(status.Internal,
			"shared memory size specified with the request for output '%s' (%d bytes) should be at least %d bytes to hold the results",
			o.Name, o.Into.N, n)
	}
	if !lies(&out.Data, o.Into) {
		if err := copyOutput(o, &out.Data); err != nil {
			return err
		}
		r.copied(out.Data.Len())
	}
	out.Data.Release()
	o.Placed = true
	return nil
}

// copyOutput copies an output to where the client wants it.
func copyOutput(o *kserve.RequestedOutput, d *tensor.Data) error {
	if device := o.Into.Buffer.Device(); device != nil {
		if err := d.WriteTo(device, uint64(o.Into.Off)); err != nil {
			return status.New(status.Internal, "failed to copy output '%s' to CUDA shared memory: %w", o.Name, err)
		}
		return nil
	}
	if !tensor.CopyShared(o.Into.Bytes(), d) {
		return ErrRegionGone(o.Name)
	}
	return nil
}

// ErrRegionGone is the answer to a client that made the memory smaller which it
// wants an output in.
func ErrRegionGone(output string) error {
	return status.New(status.Internal, "the shared memory specified with the request for output '%s' became smaller than it was", output)
}

// holds reports whether a response has an output where the client wants it.
func holds(resp *Response, o *kserve.RequestedOutput) bool {
	out := resp.Output(o.Name)
	return out != nil && lies(&out.Data, o.Into)
}

// copied counts bytes that went to memory of the client's.
func (r *Request) copied(n int) {
	if r.Pool != nil {
		r.Pool.CopiedToClient(n)
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
