package python

import (
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend/child"
	"triton/server/infer"
)

// answer reads the result of a batch and answers its requests, or returns the error for
// all of them.
func (in *instance) answer(b *infer.Batch, first uint64, r *child.Reader) error {
	in.events.waitSends(r.Uint32())
	if r.Uint8() != 0 {
		return in.fail(b, first, r)
	}
	in.need = 0
	n := r.Uint32()
	if r.Err() != nil || n != uint32(len(b.Requests)) {
		return in.violated(child.ErrFrame)
	}
	results := slices.Grow(in.results[:0], int(n))
	for range n {
		results = append(results, in.result(r))
	}
	in.results = results
	defer clear(results)
	in.events.release(r)
	if r.Err() != nil {
		for i := range results {
			results[i].release()
		}
		return in.violated(r.Err())
	}
	for i := range results {
		in.apply(first+uint64(i), results[i])
	}
	return nil
}

// fail ends a batch whose execute has failed. It returns an error when no request of it
// was answered; otherwise it answers the rest.
func (in *instance) fail(b *infer.Batch, first uint64, r *child.Reader) error {
	text := r.String()
	in.events.release(r)
	if r.Err() != nil {
		return in.violated(r.Err())
	}
	err := status.New(status.Internal, "Failed to process the request(s) for model '%s', message: %s", in.child.name, text)
	in.model.spec.Log.Error(err.Msg)
	var left []openRequest
	for i := range b.Requests {
		if o, ok := in.events.take(first + uint64(i)); ok {
			left = append(left, o)
		}
	}
	if len(left) == len(b.Requests) {
		return err
	}
	for _, o := range left {
		o.finish(failed(err))
	}
	return nil
}

func failed(err error) *infer.Response {
	resp := infer.NewResponse()
	resp.Err = err
	return resp
}

// result is what a batch did with one request.
type result struct {
	kind     uint8
	response *infer.Response // nil if the kind has none
}

func (in *instance) result(r *child.Reader) result {
	res := result{kind: r.Uint8()}
	if res.kind == resultResponse || res.kind == resultError {
		res.response = in.events.body(r, res.kind, in)
	}
	return res
}

func (res *result) release() {
	if res.response != nil {
		res.response.Release()
	}
}

// apply ends a request, leaves it to its response sender or reschedules it.
func (in *instance) apply(id uint64, res result) {
	switch res.kind {
	case resultResponse, resultError:
		if o, ok := in.events.take(id); ok {
			o.finish(res.response)
		} else {
			res.release()
		}
	case resultReschedule:
		in.reschedule(id)
	default:
		in.events.leave(id, in.lost)
	}
}

// reschedule lets a request run again.
func (in *instance) reschedule(id uint64) {
	o, ok := in.events.take(id)
	if !ok || o.r == nil {
		return
	}
	if err := o.r.Reschedule(); err != nil {
		in.model.spec.Log.Error("Failed to release request: " + err.Error())
		o.finish(failed(err))
	}
}

// response reads a response: its kind and its body.
func (e *events) response(r *child.Reader, in *instance) *infer.Response {
	return e.body(r, r.Uint8(), in)
}

// body reads the body of a response. An error in it fails only its request. The outputs are
// in the grant of in, or in blocks if in is nil.
func (e *events) body(r *child.Reader, kind uint8, in *instance) *infer.Response {
	resp := infer.NewResponse()
	if kind == resultError {
		code := status.Code(r.Uint8())
		resp.Err = status.New(code, "%s", r.String())
		return resp
	}
	if text := r.Next(uint64(r.Uint32())); len(text) > 0 {
		var err error
		if resp.Parameters, err = parseParameters(resp.Parameters, text); err != nil {
			resp.Err = status.New(status.Internal, "the parameters of a response: %w", err)
		}
	}
	n := r.Uint32()
	for i := uint32(0); i < n && r.Err() == nil; i++ {
		t := resp.AddOutput()
		err := e.tensor(r, t, in)
		if err == nil && e.model.outputShapes != nil {
			err = e.model.reshapeOutput(t)
		}
		if err != nil && resp.Err == nil {
			resp.Err = err
		}
	}
	return resp
}

// keepInline copies a tensor out of its frame.
func (e *events) keepInline(data []byte) (tensor.Data, error) {
	b, err := e.model.memory.pool.TryGet(len(data))
	if err != nil {
		return tensor.Data{}, noMemory(len(data), err)
	}
	copy(b.Bytes(), data)
	e.model.spec.Pool.CopiedToClient(len(data))
	return tensor.NewData(b), nil
}

// tensor reads one tensor, whose memory is a part of a block or of the grant, or is in the
// frame.
func (e *events) tensor(r *child.Reader, t *kserve.Tensor, in *instance) (err error) {
	t.Name, t.DataType = e.model.outputName(r.Next(uint64(r.Uint32()))), tensor.DataType(r.Uint8())
	rank := int(r.Uint8())
	t.Shape = slices.Grow(t.Shape[:0], rank)
	for range rank {
		t.Shape = append(t.Shape, int64(r.Uint64()))
	}
	block, off, n := r.Uint32(), r.Uint64(), r.Uint64()
	var data []byte
	if block == inline {
		data = r.Next(n)
	}
	if r.Err() != nil {
		return r.Err()
	}
	if t.DataType != tensor.Bytes {
		if want, err := t.Shape.ByteSize(t.DataType); err != nil || uint64(want) != n {
			return status.New(status.Internal, "tensor '%s' of shape %s has %d bytes", t.Name, t.Shape, n)
		}
	}
	if n == 0 {
		return nil
	}
	if block == inline {
		t.Data, err = e.keepInline(data)
		return err
	}
	ok := false
	if block != 0 || in == nil {
		t.Data, ok = e.slice(block, off, n)
	} else if t.Data, ok = child.Slice(in.grant, off, n); ok {
		e.model.spec.Pool.CopiedToClient(int(n)) // by the child
		in.need = max(in.need, aligned(int(off+n)))
	}
	if !ok {
		return status.New(status.Internal, "tensor '%s' is outside of the memory of its model", t.Name)
	}
	return nil
}

// outputName returns the name of a tensor as a string: the configuration's string for an
// output of the model, so that nothing is allocated.
func (m *model) outputName(name []byte) string {
	for _, known := range m.outputs {
		if known == string(name) {
			return known
		}
	}
	return string(name)
}
