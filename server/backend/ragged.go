package backend

import (
	"encoding/binary"
	"math"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// addBatchInputs adds the batch inputs of the configuration to the signature, and the
// inputs whose shapes split an output.
func (s *Signature) addBatchInputs(c *inferencepb.ModelConfig) {
	for _, in := range c.GetBatchInput() {
		for _, name := range in.GetTargetName() {
			s.Inputs = append(s.Inputs, Value{
				Name: name, DataType: tensor.DataType(in.GetDataType()), Role: BatchInput, Kind: in.GetKind(), Source: first(in.GetSourceInput()),
			})
		}
	}
	for _, out := range c.GetBatchOutput() {
		for i := range s.Outputs {
			if slices.Contains(out.GetTargetName(), s.Outputs[i].Name) {
				s.Outputs[i].Source = first(out.GetSourceInput())
			}
		}
	}
}

func first(names []string) string {
	if len(names) == 0 {
		return "" // refused by validation
	}
	return names[0]
}

// countedShape returns the shape by which the elements and rows of a request's input
// are counted: a batch dimension of 0 is dropped.
func (s *Signature) countedShape(shape tensor.Shape) tensor.Shape {
	if !s.Batching || len(shape) == 0 || shape[0] != 0 {
		return shape
	}
	shape = shape.Clone()
	shape[0] = 1
	return shape
}

// raggedShape returns the one dimension of a ragged input: all elements of the batch.
func (g *Gather) raggedShape(dst tensor.Shape, b *infer.Batch, i int, v *Value) (tensor.Shape, error) {
	total := int64(0)
	for _, r := range b.Requests {
		n, err := g.sig.countedShape(r.InputNear(i, v.Name).Shape).Elements()
		if err != nil || n > math.MaxInt64-total {
			return dst, status.New(status.InvalidArg, "input '%s' has more elements than can be counted", v.Name)
		}
		total += n
	}
	return append(dst[:0], total), nil
}

// batchInputShape returns the shape of a batch input.
func (g *Gather) batchInputShape(b *infer.Batch, v *Value, dst tensor.Shape) (tensor.Shape, error) {
	rows, most, rank := int64(0), int64(0), int64(0)
	flat, sum := int64(0), int64(0)
	for _, r := range b.Requests {
		t := r.Input(v.Source)
		if t == nil {
			return dst, status.New(status.InvalidArg, "%sinput '%s' is missing", r.Tag(), v.Source)
		}
		shape := g.sig.countedShape(t.Shape)
		n, err := shape.Elements()
		if err != nil {
			return dst, status.New(status.InvalidArg, "shape %v of input '%s': %w", shape, v.Source, err)
		}
		if rowCount(shape) > maxBatchInput {
			return dst, status.New(status.InvalidArg, "input '%s' has too many rows: %v", v.Source, shape)
		}
		item := g.itemShape(v, shape)
		if !fitsInt32(v.Kind, n, sum, item) {
			return dst, status.New(status.InvalidArg, "batch input '%s' cannot say how large input '%s' is: its numbers have 32 bits", v.Name, v.Source)
		}
		most, sum = max(most, n), sum+n
		own := int64(len(item))
		rows, rank = rows+rowCount(shape), own
		flat += rowCount(shape) * own
	}
	requests := int64(len(b.Requests))
	switch v.Kind {
	case inferencepb.BatchInput_BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO:
		return append(dst[:0], requests+1), nil
	case inferencepb.BatchInput_BATCH_MAX_ELEMENT_COUNT_AS_SHAPE:
		return append(dst[:0], most), nil
	case inferencepb.BatchInput_BATCH_ITEM_SHAPE:
		return append(dst[:0], rows, rank), nil
	case inferencepb.BatchInput_BATCH_ITEM_SHAPE_FLATTEN:
		return append(dst[:0], flat), nil
	}
	return append(dst[:0], requests), nil
}

// fitsInt32 reports whether the values that a batch input holds for a request with n
// elements, after requests with sum elements, fit into INT32.
func fitsInt32(kind inferencepb.BatchInput_Kind, n, sum int64, item tensor.Shape) bool {
	switch kind {
	case inferencepb.BatchInput_BATCH_ELEMENT_COUNT:
		return n <= math.MaxInt32
	case inferencepb.BatchInput_BATCH_ACCUMULATED_ELEMENT_COUNT, inferencepb.BatchInput_BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO:
		return n <= math.MaxInt32-sum
	case inferencepb.BatchInput_BATCH_ITEM_SHAPE, inferencepb.BatchInput_BATCH_ITEM_SHAPE_FLATTEN:
		return !slices.ContainsFunc(item, func(d int64) bool { return d > math.MaxInt32 })
	}
	return true
}

// writeBatchInput writes a batch input into mem, which is zeroed.
func (g *Gather) writeBatchInput(b *infer.Batch, v *Value, mem []byte) {
	clear(mem)
	put := func(n int64) {
		word := uint32(int32(n))
		if v.DataType == tensor.FP32 {
			word = math.Float32bits(float32(n))
		}
		binary.NativeEndian.PutUint32(mem, word)
		mem = mem[4:]
	}
	sum := int64(0)
	if v.Kind == inferencepb.BatchInput_BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO {
		put(0)
	}
	for _, r := range b.Requests {
		shape := g.sig.countedShape(r.Input(v.Source).Shape)
		n, _ := shape.Elements()
		sum += n
		switch v.Kind {
		case inferencepb.BatchInput_BATCH_ELEMENT_COUNT:
			put(n)
		case inferencepb.BatchInput_BATCH_ACCUMULATED_ELEMENT_COUNT, inferencepb.BatchInput_BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO:
			put(sum)
		case inferencepb.BatchInput_BATCH_ITEM_SHAPE, inferencepb.BatchInput_BATCH_ITEM_SHAPE_FLATTEN:
			item := g.itemShape(v, shape)
			for range rowCount(shape) { // bounded by planBatchInput
				for _, d := range item {
					put(d)
				}
			}
		}
	}
}

// itemShape returns the shape of one row of an input, as the backend sees it.
func (g *Gather) itemShape(v *Value, shape tensor.Shape) tensor.Shape {
	row := shape[min(1, len(shape)):]
	for i := range g.sig.Inputs {
		if in := &g.sig.Inputs[i]; in.Name == v.Source && in.Reshape != nil && g.sig.Batching {
			return tensor.AppendReshaped(nil, row, in.Dims, in.Reshape)
		}
	}
	return row
}

// rowCount returns the first dimension.
func rowCount(shape tensor.Shape) int64 {
	if len(shape) == 0 {
		return 0
	}
	return shape[0]
}

// splitByShape splits an output into parts whose open dimensions are those of an input
// of the request.
func (s *Scatter) splitByShape(v *Value, buf *tensor.Buffer, off, n int) {
	end := off + n
	for k, r := range s.batch.Requests {
		resp := s.responses[k]
		size, err := s.part(v, r, buf.Bytes()[off:end])
		if err != nil {
			s.fail(resp, err)
			off = end // the start of the next part is unknown
			continue
		}
		s.add(r, resp, v, buf, off, size)
		off += size
	}
}

// part sets s.shape to the shape of a request's part of an output and returns its
// length.
func (s *Scatter) part(v *Value, r *infer.Request, mem []byte) (int, error) {
	t := r.Input(v.Source)
	if t == nil {
		return 0, status.New(status.InvalidArg, "%sinput '%s', by whose shape output '%s' is split, is missing", r.Tag(), v.Source, v.Name)
	}
	s.shape = s.shape[:0]
	if s.sig.Batching {
		s.shape = append(s.shape, -1)
	}
	s.shape = append(s.shape, v.Dims...)
	shape := s.sig.countedShape(t.Shape)
	for i, d := range s.shape {
		if d >= 0 {
			continue
		}
		if i >= len(shape) {
			return 0, status.New(status.InvalidArg, "%soutput '%s' has more dimensions than input '%s', by whose shape it is split: %v", r.Tag(), v.Name, v.Source, shape)
		}
		s.shape[i] = shape[i]
	}
	size, err := rowBytes(v.DataType, s.shape, 1, mem)
	if err != nil {
		return 0, status.New(status.Internal, "%sfailed to split the output tensor '%s': no part of shape %v, by input '%s', is left in %d bytes",
			r.Tag(), v.Name, s.shape, v.Source, len(mem))
	}
	return size, nil
}
