package cache

import (
	"unsafe"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// entry is one stored response. It does not change once it can be found.
type entry struct {
	key        Key
	parameters []kserve.Parameter
	outputs    []kserve.Tensor // each in one piece
	bytes      int64           // size of the entry and of the buffers that it holds
	next, prev *entry          // in the order of use
}

// newEntry returns an entry for a response. It shares outputs that fill at least half of a buffer
// of the pool. It copies the others: slices of the outputs of a batch, and memory of a backend or
// a transport.
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
		data, err := compact(p, &from.Data)
		if err != nil {
			e.release()
			return nil, status.New(status.Unavailable, "no memory to store a response: %w", err)
		}
		e.outputs[i].Data = data
		e.bytes += int64(p.Holds(data.Segment(0).Buffer))
	}
	return e, nil
}

// mapOverhead approximates the size of one map entry in bytes.
const mapOverhead = 64

// footprint returns the size in bytes of a response without the data of its tensors.
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

// compact returns the data in a buffer of which it fills at least half: its own buffer, or
// a copy.
func compact(p *tensor.Pool, d *tensor.Data) (tensor.Data, error) {
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

// fill copies the stored response into an empty one without copying tensors.
func (e *entry) fill(into *infer.Response) { share(e.parameters, e.outputs, into) }

// share adds outputs to another response by reference.
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
