package rpc

import (
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

const (
	// copyLimit is the size up to which a tensor is copied out of the
	// transport's frames into stable memory: cheaper than holding frames, and
	// native engines can use it in place. Beyond, the one copy that gathers a
	// batch does both.
	copyLimit = 16 << 10
	// align is what vector units like.
	align = 64
)

// piece is where one tensor's data is: in raw contents, or in typed contents.
// What shared memory lends has no size here.
type piece struct {
	size  int
	raw   int              // index of the raw contents, -1 for typed
	typed int              // index of the typed contents
	num   protowire.Number // field of the typed contents
	width int              // bytes of its elements
}

// copied says whether the data goes into the stable buffer.
func (p *piece) copied() bool { return p.raw < 0 || p.size <= copyLimit }

func padded(n int) int { return (n + align - 1) &^ (align - 1) }

// place gives every tensor its data by the plan. It is called once, when the
// whole message has been found to be good.
func (d *decoder) place(ts []kserve.Tensor) {
	total := 0
	for i := range d.plan {
		if p := &d.plan[i]; p.copied() {
			total += padded(p.size)
		} else {
			d.share(&ts[i].Data, d.raws[p.raw])
		}
	}
	for i, f := range d.shared {
		if f != nil {
			f.Release() // the tensors hold it now
			d.shared[i] = nil
		}
	}
	if total > 0 {
		d.copyAll(ts, total)
	}
}

// copyAll puts all tensors that are copied into one buffer.
func (d *decoder) copyAll(ts []kserve.Tensor, total int) {
	b := d.codec.pool.Get(total)
	defer b.Release()
	off := 0
	for i := range d.plan {
		if p := &d.plan[i]; p.copied() && p.size > 0 {
			d.copyPiece(b.Bytes()[off:off+p.size], p)
			ts[i].Data.Append(b, off, p.size)
			off += padded(p.size)
		}
	}
}

func (d *decoder) copyPiece(dst []byte, p *piece) {
	if p.raw < 0 {
		write(dst[:0], d.contents[p.typed].msg, p.num, p.width)
		return
	}
	d.seek(d.raws[p.raw])
	d.copyTo(dst)
}

// frame is one buffer of the transport, held by tensors.
type frame struct {
	tensor.Buffer
	from mem.Buffer
}

var frames = sync.Pool{New: func() any { return &frame{} }}

func newFrame(from mem.Buffer) *frame {
	f := frames.Get().(*frame)
	from.Ref()
	f.from = from
	f.Init(from.ReadOnlyData(), false, f)
	return f
}

// Free gives the buffer back to the transport.
func (f *frame) Free(*tensor.Buffer) {
	f.from.Free()
	f.from = nil
	frames.Put(f)
}

// share makes data of views on the frames.
func (d *decoder) share(data *tensor.Data, at span) {
	if len(d.shared) < len(d.frames) {
		d.shared = append(d.shared, make([]*frame, len(d.frames)-len(d.shared))...)
	}
	d.seek(at)
	for d.left > 0 {
		d.advance()
		i, pos := d.frame, d.pos
		n := min(d.left, len(d.data)-pos)
		if d.shared[i] == nil {
			d.shared[i] = newFrame(d.frames[i])
		}
		data.Append(&d.shared[i].Buffer, pos, n)
		d.discard(n)
	}
}
