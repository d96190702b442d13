package offline

import (
	"encoding/binary"
	"fmt"

	"triton/pkg/client"
	"triton/pkg/tensor"
)

// batch is a list of rows that one request can carry: they have the same inputs in the same
// shapes.
type batch struct {
	rows    []rowValues
	numbers []int64 // of the rows
}

// batcher collects rows into batches. Rows of different shapes wait in batches of their own, so
// that texts of varying length fill batches too.
type batcher struct {
	size int
	open []*open // the one with the oldest row first
	key  []byte
}

type open struct {
	key string
	batch
}

// add adds a row and returns the batch that it fills, or nil.
func (b *batcher) add(number int64, row rowValues) *batch {
	b.key = appendKey(b.key[:0], row)
	for i, o := range b.open {
		if o.key != string(b.key) {
			continue
		}
		o.rows, o.numbers = append(o.rows, row), append(o.numbers, number)
		if len(o.rows) < b.size {
			return nil
		}
		b.open = append(b.open[:i], b.open[i+1:]...)
		return &o.batch
	}
	o := &open{string(b.key), batch{[]rowValues{row}, []int64{number}}}
	if b.size == 1 {
		return &o.batch
	}
	b.open = append(b.open, o)
	return nil
}

// oldest removes and returns the batch with the oldest row, or nil.
func (b *batcher) oldest() *batch {
	if len(b.open) == 0 {
		return nil
	}
	o := b.open[0]
	b.open = b.open[1:]
	return &o.batch
}

// appendKey appends the shapes of a row.
func appendKey(b []byte, row rowValues) []byte {
	for i := range row {
		if row[i].Data == nil {
			b = append(b, 0)
			continue
		}
		b = append(b, byte(1+len(row[i].Shape)))
		for _, d := range row[i].Shape {
			b = binary.AppendVarint(b, d)
		}
	}
	return b
}

// request returns the request for the rows of a batch.
func (m *model) request(b *batch) *client.Request {
	req := &client.Request{Model: m.name, Version: m.version}
	for i := range m.inputs {
		in := &m.inputs[i]
		first := &b.rows[0][i]
		if first.Data == nil {
			continue
		}
		t := client.Tensor{Name: in.Name, Datatype: in.DataType.String(), Data: first.Data}
		if m.batching && !in.ShapeTensor {
			t.Shape = append(t.Shape, int64(len(b.rows)))
		}
		t.Shape = append(t.Shape, first.Shape...)
		if len(b.rows) > 1 {
			t.Data = make([]byte, 0, len(first.Data)*len(b.rows))
			for _, row := range b.rows {
				t.Data = append(t.Data, row[i].Data...)
			}
		}
		req.Inputs = append(req.Inputs, t)
	}
	return req
}

// lines returns the line of each row of a response. An error means that the response does not
// have one part for each row.
func (m *model) lines(resp *client.Response, n int) ([][]byte, error) {
	parts := make([][]rowOutput, n)
	for i := range resp.Outputs {
		if err := m.split(&resp.Outputs[i], parts); err != nil {
			return nil, fmt.Errorf("output %q: %w", resp.Outputs[i].Name, err)
		}
	}
	lines := make([][]byte, n)
	for k := range parts {
		var err error
		if lines[k], err = appendOutputs(nil, parts[k]); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// split adds the part of an output that belongs to each row.
func (m *model) split(out *client.Tensor, parts [][]rowOutput) error {
	dt, ok := tensor.ParseDataType(out.Datatype)
	if !ok {
		return fmt.Errorf("unknown data type %q", out.Datatype)
	}
	shape := tensor.Shape(out.Shape)
	if !m.batching {
		parts[0] = append(parts[0], rowOutput{Name: out.Name, DataType: dt, Shape: shape, Data: out.Data})
		return nil
	}
	if len(shape) == 0 || shape[0] != int64(len(parts)) {
		return fmt.Errorf("its shape is %s, for %d rows", shape, len(parts))
	}
	shape = shape[1:]
	size, err := shape.ByteSize(dt)
	if dt == tensor.Bytes {
		size, err = shape.Elements()
	}
	if err != nil {
		return fmt.Errorf("its shape %s: %w", shape, err)
	}
	rest := out.Data
	for k := range parts {
		n := int(size)
		if dt == tensor.Bytes {
			if n, err = elementBytes(rest, size); err != nil {
				return err
			}
		}
		if n > len(rest) {
			return fmt.Errorf("%d bytes are too few for the shape %s of %s", len(out.Data), tensor.Shape(out.Shape), dt)
		}
		parts[k] = append(parts[k], rowOutput{Name: out.Name, DataType: dt, Shape: shape, Data: rest[:n]})
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes are too many for the shape %s of %s", len(out.Data), tensor.Shape(out.Shape), dt)
	}
	return nil
}

// elementBytes returns the size of the first n elements of a BYTES tensor.
func elementBytes(data []byte, n int64) (int, error) {
	at := 0
	for range n {
		if len(data)-at < 4 {
			return 0, tensor.ErrTruncated
		}
		length := binary.LittleEndian.Uint32(data[at:])
		if at += 4; uint64(length) > uint64(len(data)-at) {
			return 0, tensor.ErrTruncated
		}
		at += int(length)
	}
	return at, nil
}
