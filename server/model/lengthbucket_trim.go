package model

import (
	"sync"

	"triton/pkg/kserve"
	"triton/pkg/log"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

var trimmers = sync.Pool{New: func() any { return &trimmer{} }}

// trimmer is the ResponseObserver that trims the outputs of one request to its length.
type trimmer struct {
	runner         *lengthRunner
	length, bucket int64
	next           infer.ResponseObserver
}

// trimOutputs sets the observer that trims the request's outputs.
func (b *lengthRunner) trimOutputs(r *infer.Request, length, bucket int64) {
	c := trimmers.Get().(*trimmer)
	*c = trimmer{runner: b, length: length, bucket: bucket, next: r.Observer}
	r.Observer = c
}

var _ infer.ResponseRetainer = (*trimmer)(nil)

// RetainsResponses reports whether the next observer retains responses; a trimmer retains
// none.
func (c *trimmer) RetainsResponses() bool {
	k, ok := c.next.(infer.ResponseRetainer)
	return ok && k.RetainsResponses()
}

// Observe trims the outputs of a response.
func (c *trimmer) Observe(r *infer.Request, resp *infer.Response, final bool) {
	if resp.Err == nil {
		resp.Err = c.trimContained(r, resp)
	}
	if c.next != nil {
		c.next.Observe(r, resp, final)
	}
	if final {
		r.Observer = nil
		*c = trimmer{}
		trimmers.Put(c)
	}
}

var errOutputLength = status.New(status.Internal, "internal error while the outputs were trimmed to their length; the server's log has the details")

// trimContained is trimAll with an error in place of a panic: the next observer must
// still see the response.
func (c *trimmer) trimContained(r *infer.Request, resp *infer.Response) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if r.Log != nil {
				log.Panicked(r.Log, "panic while outputs were trimmed to their length", p, "model", r.ModelName, "version", r.ModelVersion)
			}
			err = errOutputLength
		}
	}()
	return c.trimAll(r, resp)
}

// trimAll trims all outputs.
func (c *trimmer) trimAll(r *infer.Request, resp *infer.Response) error {
	for i := range c.runner.lengths.Outputs {
		a := &c.runner.lengths.Outputs[i]
		t := resp.Output(a.Name)
		if t == nil {
			continue
		}
		at := c.runner.skip + a.Dim
		if at >= len(t.Shape) || t.Shape[at] != c.bucket {
			return status.New(status.Internal, "output '%s' has shape %v, but dimension %d must be %d, the length that the request was padded to",
				a.Name, t.Shape, a.Dim, c.bucket)
		}
		if err := c.trim(r, t, at); err != nil {
			return err
		}
	}
	return nil
}

// trim trims one output. The bytes of a single row stay in place.
func (c *trimmer) trim(r *infer.Request, t *kserve.Tensor, at int) error {
	s := stridesOf(c.runner.countable(t.Shape), at, t.DataType)
	n := int(c.length) * s.inner
	t.Shape[at] = c.length
	switch _, contiguous := t.Data.Contiguous(); {
	case t.Data.Len() == 0:
		return nil
	case t.Data.Len() != s.outer*s.stride:
		return status.New(status.Internal, "output '%s' has %d bytes, which do not match its shape", t.Name, t.Data.Len())
	case s.outer != 1 || !contiguous:
		return c.pack(r, t, s, n)
	}
	whole := t.Data
	seg := whole.Segment(0)
	t.Data = tensor.SliceData(seg.Buffer, seg.Off, n)
	whole.Release()
	return nil
}

// pack copies the first n bytes of every row. The copy is not made in the client's
// region: the whole rows may be there.
func (c *trimmer) pack(r *infer.Request, t *kserve.Tensor, s strides, n int) error {
	whole, contiguous := t.Data.Contiguous()
	size := s.outer * n
	if !contiguous {
		size = t.Data.Len()
	}
	out, err := r.Alloc(infer.Output{Size: size, Filled: true})
	if err != nil {
		return status.New(status.Unavailable, "no memory for output '%s': %w", t.Name, err)
	}
	if !contiguous {
		t.Data.CopyTo(out.Bytes())
		whole = out.Bytes()
	}
	s.compact(out.Bytes(), whole, n)
	if err := t.Data.Lost(); err != nil { // the backend may have written it to the client's memory
		out.Buffer.Release()
		return err
	}
	out.N = s.outer * n
	before := t.Data
	t.Data = tensor.SegmentData(out)
	before.Release()
	return nil
}
