package traffic

import (
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// shadowCopy is the copy of one request, with the outputs of the primary once it has answered. It is
// ended by Finish or Drop.
type shadowCopy struct {
	shadow  *shadow
	request *infer.Request
	bytes   int64
	id      string
	// name and version are those of the primary.
	name, version string
	outputs       []kserve.Tensor
}

// Begin decides whether a request is copied, before the primary runs it, and copies its inputs. It
// returns nil if the request is not copied.
func (s *shadow) Begin(r *infer.Request, primary infer.Model) *shadowCopy {
	if s.share < 1 && s.opts.Random() >= s.share {
		return nil
	}
	if !copyable(r, primary) {
		s.counts.skipped.Add(1)
		return nil
	}
	size := int64(0)
	for i := range r.Inputs {
		size += int64(r.Inputs[i].Data.Len())
	}
	if !s.reserve(size) {
		s.counts.dropped.Add(1)
		return nil
	}
	c := &shadowCopy{shadow: s, bytes: size, id: r.ID, name: primary.Name(), version: primary.Version(), request: infer.NewRequest()}
	if !c.copyRequest(r) {
		s.counts.dropped.Add(1)
		c.Drop()
		return nil
	}
	return c
}

// copyable reports whether a request has one answer and depends on nothing but its inputs.
// Requests whose outputs go to memory of clients are not copied, because the client may change it
// before the comparison.
func copyable(r *infer.Request, primary infer.Model) bool {
	config := primary.Config()
	if config.Decoupled() || config.GetSequenceBatching() != nil ||
		config.GetEnsembleScheduling() != nil && (r.SequenceID != 0 || r.SequenceIDStr != "") {
		return false
	}
	for i := range r.Outputs {
		if r.Outputs[i].Into.Buffer != nil {
			return false
		}
	}
	return true
}

// reserve takes a place for a copy.
func (s *shadow) reserve(size int64) bool {
	if s.pending.Add(1) > int64(s.opts.Config.Pending()) {
		s.pending.Add(-1)
		return false
	}
	if s.bytes.Add(size) > s.opts.Config.Bytes() {
		s.pending.Add(-1)
		s.bytes.Add(-size)
		return false
	}
	return true
}

// copyRequest copies what the answer depends on. It reports false without memory.
func (c *shadowCopy) copyRequest(r *infer.Request) bool {
	q := c.request
	q.ID, q.Raw = r.ID, r.Raw
	q.Parameters = append(q.Parameters, r.Parameters...)
	for i := range r.Outputs {
		q.Outputs = append(q.Outputs, kserve.RequestedOutput{Name: r.Outputs[i].Name, Binary: true})
	}
	for i := range r.Inputs {
		from := &r.Inputs[i]
		t := q.AddInput()
		t.Name, t.DataType = from.Name, from.DataType
		t.Shape = append(t.Shape[:0], from.Shape...)
		if from.Data.Len() == 0 {
			continue
		}
		b, err := c.shadow.opts.Pool.TryGet(from.Data.Len())
		if err != nil {
			return false
		}
		t.Data = tensor.NewData(b)
		if tensor.CopyShared(b.Bytes(), &from.Data) != nil { // a client has shrunk its memory: the primary reports it
			return false
		}
	}
	return true
}

// Finish gives the copy to the worker, with the answer of the primary. The response stays the
// caller's. A nil response, or one that cannot be compared, drops the copy. A nil shadowCopy does nothing.
func (c *shadowCopy) Finish(resp *infer.Response) {
	if c == nil {
		return
	}
	if !settled(resp) {
		c.shadow.counts.skipped.Add(1)
		c.Drop()
		return
	}
	size := int64(0)
	for i := range resp.Outputs {
		from := &resp.Outputs[i]
		size += int64(from.Data.Len())
		c.outputs = append(c.outputs, kserve.Tensor{
			Name: from.Name, DataType: from.DataType, Shape: append(tensor.Shape(nil), from.Shape...), Data: from.Data.Clone(),
		})
	}
	c.bytes += size
	if c.shadow.bytes.Add(size) > c.shadow.opts.Config.Bytes() || !c.shadow.enqueue(c) {
		c.shadow.counts.dropped.Add(1)
		c.Drop()
	}
}

// settled reports whether a response has outputs that stay as they are. A model that passes its
// inputs on can answer with memory of the client.
func settled(resp *infer.Response) bool {
	if resp == nil || resp.Err != nil {
		return false
	}
	return !slices.ContainsFunc(resp.Outputs, func(t kserve.Tensor) bool { return t.Data.Foreign() })
}

// Drop ends the copy. A nil shadowCopy does nothing.
func (c *shadowCopy) Drop() {
	if c == nil {
		return
	}
	if c.request != nil {
		c.request.Release()
		c.request.Release() // the core's reference
		c.request = nil
	}
	kserve.ReleaseTensors(c.outputs)
	c.outputs = nil
	c.shadow.bytes.Add(-c.bytes)
	c.shadow.pending.Add(-1)
}
