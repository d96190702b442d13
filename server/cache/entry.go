package cache

import (
	"unsafe"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// entry is one kept response. It does not change once it can be found.
type entry struct {
	key        Key
	parameters []kserve.Parameter
	outputs    []kserve.Tensor // each in one piece
	bytes      int64           // that it keeps
	next, prev *entry          // by use
}

// newEntry keeps a response: whole buffers of the pool by reference, all else,
// such as the rows of a batch and memory of an engine or a transport, as copies.
func newEntry(p *tensor.Pool, k Key, resp *infer.Response) (*entry, error) {
	e := &entry{key: k, bytes: footprint(resp)}
	e.parameters = append(e.parameters, resp.Parameters...)
	e.outputs = make([]kserve.Tensor, len(resp.Outputs))
	for i := range resp.Outputs {
		from := &resp.Outputs[i]
		e.outputs[i] = kserve.Tensor{Name: from.Name, DataType: from.DataType, Shape: from.Shape.Clone()}
		if from.Data.Len() == 0 {
			continue
		}
		data, err := keep(p, &from.Data)
		if err != nil {
			e.release()
			return nil, status.New(status.Unavailable, "no memory to keep a response: %w", err)
		}
		e.outputs[i].Data = data
		e.bytes += int64(p.Holds(data.Segment(0).Buffer))
	}
	return e, nil
}

// mapOverhead is about what one entry takes in the table.
const mapOverhead = 64

// footprint returns what a response needs beside its tensors' bytes.
func footprint(resp *infer.Response) int64 {
	n := int64(unsafe.Sizeof(entry{})) + mapOverhead
	for i := range resp.Outputs {
		o := &resp.Outputs[i]
		n += int64(unsafe.Sizeof(*o)) + int64(len(o.Name)) + 8*int64(len(o.Shape))
	}
	for i := range resp.Parameters {
		p := &resp.Parameters[i]
		n += int64(unsafe.Sizeof(*p)) + int64(len(p.Name)+len(p.String))
	}
	return n
}

// keep returns the data in a buffer that is mostly it.
func keep(p *tensor.Pool, d *tensor.Data) (tensor.Data, error) {
	if d.Segments() == 1 {
		if s := d.Segment(0); p.Holds(s.Buffer) <= 2*s.N && p.Holds(s.Buffer) > 0 {
			return d.Clone(), nil
		}
	}
	b, err := p.TryGet(d.Len())
	if err != nil {
		return tensor.Data{}, err
	}
	d.CopyTo(b.Bytes())
	return tensor.NewData(b), nil
}

// fill puts the kept response into an empty one, without a copy of tensors.
func (e *entry) fill(into *infer.Response) { share(e.parameters, e.outputs, into) }

// share lends outputs to another response.
func share(parameters []kserve.Parameter, outputs []kserve.Tensor, into *infer.Response) {
	into.Parameters = append(into.Parameters, parameters...)
	for i := range outputs {
		o := &outputs[i]
		t := into.AddOutput()
		t.Name, t.DataType, t.Data = o.Name, o.DataType, o.Data.Clone()
		t.Shape = append(t.Shape[:0], o.Shape...)
	}
}

func (e *entry) release() { kserve.ReleaseTensors(e.outputs) }
