package infer

import (
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// lostRegion returns an error if a client has taken away memory that it has lent for an input or
// an output of the request: then the backend has read or written zeros in its place.
func (r *Request) lostRegion() error {
	for i := range r.Inputs {
		if err := r.Inputs[i].Data.Lost(); err != nil {
			return err
		}
	}
	for i := range r.Outputs {
		if b := r.Outputs[i].Into.Buffer; b != nil {
			if err := b.Lost(); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeRegions moves outputs from the response to the shared memory regions that the
// client requested. From then on the client may change the memory at any time. Outputs
// that the backend wrote into the region are not copied. The final response releases the
// regions, so that the client can unregister them once it has its answer.
func (r *Request) writeRegions(resp *Response, final bool) {
	for i := range r.Outputs {
		o := &r.Outputs[i]
		if o.Into.Buffer == nil {
			continue
		}
		written := final || inRegion(resp, o) // otherwise the backend may still write a later response there
		if resp.Err == nil {
			resp.Err = r.writeRegion(o, resp)
		}
		if written {
			o.Return()
		}
		if final {
			o.Release()
		}
	}
}

// writeRegion moves one output to its region.
func (r *Request) writeRegion(o *kserve.RequestedOutput, resp *Response) error {
	out := resp.Output(o.Name)
	if out == nil {
		return nil
	}
	if n := out.Data.Len(); n > o.Into.N {
		return status.New(status.Internal,
			"shared memory size specified with the request for output '%s' (%d bytes) should be at least %d bytes to hold the results",
			o.Name, o.Into.N, n)
	}
	if !startsAt(&out.Data, o.Into) {
		if err := copyOutput(o, &out.Data); err != nil {
			return err
		}
		r.countCopied(out.Data.Len())
	}
	out.Data.Release()
	o.Placed = true
	return nil
}

// copyOutput copies an output to its region.
func copyOutput(o *kserve.RequestedOutput, d *tensor.Data) error {
	if device := o.Into.Buffer.Device(); device != nil {
		if err := d.WriteTo(device, uint64(o.Into.Off)); err != nil {
			return status.New(status.Internal, "failed to copy output '%s' to CUDA shared memory: %w", o.Name, err)
		}
		return nil
	}
	if err := tensor.CopyShared(o.Into.Bytes(), d); err != nil {
		return err
	}
	return o.Into.Buffer.Lost()
}

// inRegion reports whether the response already has the output in its region.
func inRegion(resp *Response, o *kserve.RequestedOutput) bool {
	out := resp.Output(o.Name)
	return out != nil && startsAt(&out.Data, o.Into)
}

// countCopied counts bytes copied to the client's memory.
func (r *Request) countCopied(n int) {
	if r.Pool != nil {
		r.Pool.CopiedToClient(n)
	}
}

// startsAt reports whether the data begins where the segment does.
func startsAt(d *tensor.Data, at tensor.Segment) bool {
	if d.Segments() != 1 {
		return false
	}
	s := d.Segment(0)
	return s.Buffer == at.Buffer && s.Off == at.Off
}
