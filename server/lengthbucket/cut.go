package lengthbucket

import (
	"fmt"
	"runtime/debug"
	"sync"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

var cuts = sync.Pool{New: func() any { return &cut{} }}

// cut is the Tap that brings the outputs of one request back to its length.
type cut struct {
	runner         *Runner
	length, bucket int64
	before         infer.Tap
}

// cut makes the request's outputs be cut back.
func (b *Runner) cut(r *infer.Request, length, bucket int64) {
	c := cuts.Get().(*cut)
	*c = cut{runner: b, length: length, bucket: bucket, before: r.Tap}
	r.Tap = c
}

var _ infer.ResponseKeeper = (*cut)(nil)

// KeepsResponses is what the Tap before says; a cut keeps nothing.
func (c *cut) KeepsResponses() bool {
	k, ok := c.before.(infer.ResponseKeeper)
	return ok && k.KeepsResponses()
}

// Respond cuts the outputs of a response.
func (c *cut) Respond(r *infer.Request, resp *infer.Response, final bool) {
	if resp.Err == nil {
		resp.Err = c.outputsContained(r, resp)
	}
	if c.before != nil {
		c.before.Respond(r, resp, final)
	}
	if final {
		r.Tap = nil
		*c = cut{}
		cuts.Put(c)
	}
}

var errFault = status.New(status.Internal, "internal error while the outputs were cut to their length; the server's log has the details")

// outputsContained is outputs. A panic is an error: the Tap before is to hear of the
// response all the same.
func (c *cut) outputsContained(r *infer.Request, resp *infer.Response) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if r.Log != nil {
				r.Log.Error("panic while outputs were cut to their length", "model", r.ModelName, "version", r.ModelVersion,
					"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
			err = errFault
		}
	}()
	return c.outputs(r, resp)
}

func (c *cut) outputs(r *infer.Request, resp *infer.Response) error {
	for i := range c.runner.lengths.Outputs {
		a := &c.runner.lengths.Outputs[i]
		t := resp.Output(a.Name)
		if t == nil {
			continue
		}
		at := c.runner.skip + a.Dim
		if at >= len(t.Shape) || t.Shape[at] != c.bucket {
			return status.New(status.Internal, "output '%s' has shape %v, but a request padded to %d was to give that length in dimension %d",
				a.Name, t.Shape, c.bucket, a.Dim)
		}
		if err := c.output(r, t, at); err != nil {
			return err
		}
	}
	return nil
}

// output cuts one output. Of a single row the bytes stay where they are.
func (c *cut) output(r *infer.Request, t *kserve.Tensor, at int) error {
	s := stridesOf(c.runner.counted(t.Shape), at, t.DataType)
	n := int(c.length) * s.inner
	t.Shape[at] = c.length
	switch _, one := t.Data.Contiguous(); {
	case t.Data.Len() == 0:
		return nil
	case t.Data.Len() != s.outer*s.stride:
		return status.New(status.Internal, "output '%s' has %d bytes, which its shape does not explain", t.Name, t.Data.Len())
	case s.outer != 1 || !one:
		return c.pack(r, t, s, n)
	}
	whole := t.Data
	seg := whole.Segment(0)
	t.Data = tensor.SliceData(seg.Buffer, seg.Off, n)
	whole.Release()
	return nil
}

// pack copies the first n bytes of every row. The copy is not made where the client
// wants the output: the whole rows may lie there.
func (c *cut) pack(r *infer.Request, t *kserve.Tensor, s strides, n int) error {
	whole, one := t.Data.Contiguous()
	size := s.outer * n
	if !one {
		size = t.Data.Len()
	}
	out, err := r.Alloc(infer.Output{Size: size, Filled: true})
	if err != nil {
		return status.New(status.Unavailable, "no memory for output '%s': %w", t.Name, err)
	}
	ok := tensor.Survives(func() { // the engine may have written it to the client's memory
		if one {
			s.pick(out.Bytes(), whole, n)
			return
		}
		t.Data.CopyTo(out.Bytes())
		s.pick(out.Bytes(), out.Bytes(), n)
	})
	if !ok {
		out.Buffer.Release()
		return infer.ErrRegionGone(t.Name)
	}
	out.N = s.outer * n
	before := t.Data
	t.Data = tensor.SegmentData(out)
	before.Release()
	return nil
}
