package tensor

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"triton/pkg/invariant"
)

const (
	minClassBits = 8  // 256 bytes
	maxClassBits = 26 // 64 MiB; larger buffers are mapped and unmapped one by one
	classes      = maxClassBits - minClassBits + 1
	slabBytes    = 1 << 20
)

// Pool hands out buffers outside the Go heap, in power-of-two size classes. The
// addresses are page- or at least 256-byte-aligned and stable, the collector
// neither scans nor counts them, and freed buffers are kept for reuse up to a
// limit per class.
type Pool struct {
	classes     [classes]class
	outstanding atomic.Int64
	bytes       atomic.Int64 // mapped
	kept        atomic.Int64 // of it, whole mappings that wait for reuse
	structs     sync.Pool    // *Buffer
	copied      copied
}

type class struct {
	mu struct {
		sync.Mutex
		free [][]byte
	}
}

// NewPool makes an empty pool.
func NewPool() *Pool { return &Pool{} }

// Get is a buffer of n bytes with one reference. The contents are undefined.
// It panics only when the system has no memory left, as the Go runtime does.
func (p *Pool) Get(n int) *Buffer { return p.GetAligned(n, 0) }

// alignment is what vector units like best, and enough for every data type.
const alignment = 64

// GetAligned is a buffer of n bytes in which the byte at is aligned for every
// data type: for messages whose tensor data stands behind a text of any length.
func (p *Pool) GetAligned(n, at int) *Buffer {
	b, err := p.get(n, at)
	if err != nil {
		panic("tensor: out of memory: " + err.Error())
	}
	return b
}

// TryGet is Get for a size that is not backed by bytes at hand, such as that of
// an output: the error says that the system refuses it.
func (p *Pool) TryGet(n int) (*Buffer, error) { return p.get(n, 0) }

func (p *Pool) get(n, at int) (*Buffer, error) {
	front := front(at)
	mem, c, err := p.take(front + n)
	if err != nil {
		return nil, err
	}
	return p.buffer(mem, c, front, n), nil
}

// GetKept is GetAligned for memory that waits for reuse, which costs nothing to
// hand out: nil when there is none of that size.
func (p *Pool) GetKept(n, at int) *Buffer {
	front := front(at)
	c := classOf(front + n)
	if c < 0 {
		return nil
	}
	mem := p.reuse(c)
	if mem == nil {
		return nil
	}
	return p.buffer(mem, c, front, n)
}

// front is how many bytes to leave in front for the byte at to be aligned.
func front(at int) int { return -at & (alignment - 1) }

func (p *Pool) buffer(mem []byte, c int8, front, n int) *Buffer {
	b, _ := p.structs.Get().(*Buffer)
	if b == nil {
		b = &Buffer{}
	}
	b.class, b.whole = c, mem
	b.Init(mem[front:front+n], true, p)
	p.outstanding.Add(1)
	return b
}

func classOf(n int) int8 {
	if n <= 1<<minClassBits {
		return 0
	}
	c := bits.Len(uint(n-1)) - minClassBits
	if c >= classes {
		return -1
	}
	return int8(c)
}

func (p *Pool) take(n int) ([]byte, int8, error) {
	c := classOf(n)
	if c < 0 {
		mem, err := p.mapping(n)
		return mem, c, err
	}
	if mem := p.reuse(c); mem != nil {
		return mem, c, nil
	}
	size := 1 << (int(c) + minClassBits)
	mem, err := p.mapping(max(size, slabBytes))
	if err != nil || size >= slabBytes {
		return mem, c, err
	}
	cl := &p.classes[c]
	cl.mu.Lock()
	for off := size; off < slabBytes; off += size {
		cl.mu.free = append(cl.mu.free, mem[off:off+size:off+size])
	}
	cl.mu.Unlock()
	return mem[:size:size], c, nil
}

// reuse takes memory that was given back; nil when there is none.
func (p *Pool) reuse(c int8) []byte {
	cl := &p.classes[c]
	cl.mu.Lock()
	k := len(cl.mu.free)
	if k == 0 {
		cl.mu.Unlock()
		return nil
	}
	mem := cl.mu.free[k-1]
	cl.mu.free = cl.mu.free[:k-1]
	cl.mu.Unlock()
	if cap(mem) >= slabBytes {
		p.kept.Add(-int64(cap(mem)))
	}
	return mem
}

// keepBytes bounds what the classes of whole mappings keep for reuse, together.
// Classes cut from slabs never give memory back: a slab is small and its pieces
// mixed.
const keepBytes = 256 << 20

// Free takes a buffer back; it is called by the last Release.
func (p *Pool) Free(b *Buffer) {
	mem, c := b.whole, b.class
	invariant.Poison(mem)
	b.data, b.whole, b.owner = nil, nil, nil
	p.structs.Put(b)
	p.outstanding.Add(-1)
	if c < 0 {
		p.unmapping(mem)
		return
	}
	if size := int64(cap(mem)); size >= slabBytes && p.kept.Add(size) > keepBytes {
		p.kept.Add(-size)
		p.unmapping(mem)
		return
	}
	cl := &p.classes[c]
	cl.mu.Lock()
	cl.mu.free = append(cl.mu.free, mem)
	cl.mu.Unlock()
}

func (p *Pool) mapping(n int) ([]byte, error) {
	mem, err := mapMemory(n)
	if err != nil {
		return nil, err
	}
	p.bytes.Add(int64(cap(mem)))
	return mem, nil
}

func (p *Pool) unmapping(mem []byte) {
	p.bytes.Add(-int64(cap(mem)))
	unmapMemory(mem)
}

// Holds is how many bytes of the pool a buffer keeps from reuse; 0 when it is not
// of this pool.
func (p *Pool) Holds(b *Buffer) int {
	if b.owner != Owner(p) {
		return 0
	}
	return cap(b.whole)
}

// Outstanding is the number of buffers not yet released; 0 at the end of every
// test.
func (p *Pool) Outstanding() int64 { return p.outstanding.Load() }

// Bytes is the memory mapped, in use or kept.
func (p *Pool) Bytes() int64 { return p.bytes.Load() }
