package rpc

import (
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// align is the alignment in bytes that vector instructions prefer.
const align = 64

// dataPlan locates the data of one tensor: raw contents or typed contents. For data in
// shared memory the size is 0.
type dataPlan struct {
	size  int
	raw   int              // index of the raw contents, -1 for typed
	typed int              // index of the typed contents
	num   protowire.Number // field of the typed contents
	width int              // bytes of its elements
}

// decoded reports whether the data is made from typed contents.
func (p *dataPlan) decoded() bool { return p.raw < 0 }

func padded(n int) int { return (n + align - 1) &^ (align - 1) }

// attachData gives every tensor its data according to the plan. Raw contents stay in the
// transport's frames; backends that need them elsewhere make the only copy. attachData is
// called once, after the whole message has been checked. It returns the error of the budget
// or of the pool.
func (d *decoder) attachData(ts []kserve.Tensor) error {
	total := 0
	for i := range d.plan {
		if p := &d.plan[i]; p.decoded() {
			total += padded(p.size)
		} else {
			d.attachFrames(&ts[i].Data, d.raws[p.raw])
		}
	}
	for i, f := range d.shared {
		if f != nil {
			f.buffer.Release() // the tensors hold it now
			d.shared[i] = nil
		}
	}
	if total > 0 {
		return d.decodeAll(ts, total)
	}
	return nil
}

// decodeAll puts all typed contents into one buffer.
func (d *decoder) decodeAll(ts []kserve.Tensor, total int) error {
	b, err := d.codec.pool.TryGet(total)
	if err != nil {
		return status.Wrap(err, status.Unavailable, "no memory for the %d bytes of the tensors of the message: %w", total, err)
	}
	defer b.Release()
	off := 0
	for i := range d.plan {
		if p := &d.plan[i]; p.decoded() && p.size > 0 {
			write(b.Bytes()[off:off:off+p.size], d.contents[p.typed].msg, p.num, p.width)
			ts[i].Data.Append(b, off, p.size)
			off += padded(p.size)
		}
	}
	return nil
}

// frame is one buffer of the transport, held by tensors. The tensor.Buffer is no embedded field: a
// frame owns it, and would take its methods for those of an owner, such as Location.
type frame struct {
	buffer tensor.Buffer
	from   mem.Buffer
}

var frames = sync.Pool{New: func() any { return &frame{} }}

func newFrame(from mem.Buffer) *frame {
	f := frames.Get().(*frame)
	from.Ref()
	f.from = from
	f.buffer.Init(from.ReadOnlyData(), false, f)
	return f
}

// Free gives the buffer back to the transport.
func (f *frame) Free(*tensor.Buffer) {
	f.from.Free()
	f.from = nil
	frames.Put(f)
}

// attachFrames appends views of the frames to data.
func (d *decoder) attachFrames(data *tensor.Data, at span) {
	if len(d.shared) < len(d.frames) {
		d.shared = append(d.shared, make([]*frame, len(d.frames)-len(d.shared))...)
	}
	d.seek(at)
	for d.left > 0 {
		d.advance()
		i, pos := d.frame, d.pos
		n := min(d.left, len(d.data)-pos)
		if b := d.arrived.Buffer; b != nil && i == d.arrived.Frame {
			data.Append(b, pos, n)
		} else {
			if d.shared[i] == nil {
				d.shared[i] = newFrame(d.frames[i])
			}
			data.Append(&d.shared[i].buffer, pos, n)
		}
		d.discard(n)
	}
}
