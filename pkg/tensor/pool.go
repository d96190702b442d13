package tensor

import (
	"math/bits"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"triton/pkg/invariant"
)

const (
	minClassBits = 8  // 256 bytes
	maxClassBits = 26 // 64 MiB; larger buffers are mapped and unmapped one by one
	classes      = maxClassBits - minClassBits + 1
	slabBytes    = 1 << 20
)

// Pool provides buffers outside the Go heap, in power-of-two size classes. The
// addresses are stable and aligned to pages or at least 256 bytes, the collector
// neither scans nor counts the memory, and freed buffers are kept for reuse up to a
// limit per class. The memory comes from a Source.
type Pool struct {
	source      Source
	refuse      func(n int) error
	account     Account
	classes     [classes]class
	outstanding atomic.Int64
	bytes       atomic.Int64 // mapped
	kept        atomic.Int64 // the part of bytes in whole mappings that wait for reuse
	discarded   atomic.Int64 // the part of bytes without memory, see Trim
	structs     sync.Pool    // *Buffer
	copied      copied
}

type class struct {
	mu struct {
		sync.Mutex
		free  []piece
		dirty int // pieces of free that are not discarded
	}
}

// piece is the memory of one buffer.
type piece struct {
	mem     []byte
	mapping *Mapping // the mapping with the piece; nil for private memory
	// discarded reports that the system holds no memory for the piece until it is written to.
	discarded bool
}

// Account counts the memory that the buffers of pools occupy. It is safe for concurrent use.
type Account interface {
	// Take counts n bytes before they are handed out. An error refuses the buffer.
	Take(n int) error
	// Return ends what Take or Add has counted.
	Return(n int)
	// Add counts n bytes that are in use already.
	Add(n int)
	// Limit is the maximum of all bytes in use, 0 for none. Pools that exceed it with free
	// memory give that back to the system.
	Limit() int64
}

// PoolOptions configure a pool.
type PoolOptions struct {
	// Source is the source of the memory; nil: Anonymous.
	Source Source
	// Refuse is called before n bytes are handed out. An error refuses the
	// request. Tests use it to simulate a lack of memory.
	Refuse func(n int) error
	// Account counts the memory in use; nil: nothing does.
	Account Account
}

// NewPool returns an empty pool over private memory.
func NewPool() *Pool { return NewPoolOf(PoolOptions{}) }

// NewPoolOf returns an empty pool.
func NewPoolOf(o PoolOptions) *Pool {
	if o.Source == nil {
		o.Source = Anonymous{}
	}
	return &Pool{source: o.Source, refuse: o.Refuse, account: o.Account}
}

// SetAccount sets the account of a pool that has handed out nothing yet.
func (p *Pool) SetAccount(a Account) { p.account = a }

// Get is TryGet for tests: it panics if there is no memory. The contents are undefined.
func (p *Pool) Get(n int) *Buffer {
	b, _, err := p.get(n, 0)
	if err != nil {
		panic("tensor: out of memory: " + err.Error())
	}
	return b
}

// alignment in bytes is the one that vector instructions prefer, and enough for every data
// type.
const alignment = 64

// TryGet returns a buffer of n bytes with one reference, or the error of the system.
// The contents are undefined.
func (p *Pool) TryGet(n int) (*Buffer, error) {
	b, _, err := p.get(n, 0)
	return b, err
}

// TryGetAligned returns a buffer of n bytes in which the byte at index `at` is aligned
// for every data type. It is for messages with tensor data behind a text of any length.
func (p *Pool) TryGetAligned(n, at int) (*Buffer, error) {
	b, _, err := p.get(n, at)
	return b, err
}

// TryGetZeroed is TryGet with all bytes zero, for readers that must not see earlier
// contents.
func (p *Pool) TryGetZeroed(n int) (*Buffer, error) {
	b, fresh, err := p.get(n, 0)
	if err == nil && !fresh {
		clear(b.data)
	}
	return b, err
}

// get also reports whether the memory was never used before.
func (p *Pool) get(n, at int) (b *Buffer, fresh bool, err error) {
	if p.refuse != nil {
		if err := p.refuse(n); err != nil {
			return nil, false, err
		}
	}
	front := leadingPad(at)
	if p.account != nil {
		if err := p.account.Take(occupied(front + n)); err != nil {
			return nil, false, err
		}
	}
	m, c, fresh, err := p.take(front + n)
	if err != nil {
		if p.account != nil {
			p.account.Return(occupied(front + n))
		}
		return nil, false, err
	}
	return p.buffer(m, c, front, n), fresh, nil
}

// occupied returns the size of the memory of a buffer of n bytes.
func occupied(n int) int {
	if c := classOf(n); c >= 0 {
		return 1 << (int(c) + minClassBits)
	}
	return n
}

// leadingPad returns how many bytes to skip so that the byte `at` is aligned.
func leadingPad(at int) int { return -at & (alignment - 1) }

func (p *Pool) buffer(m piece, c int8, front, n int) *Buffer {
	b, _ := p.structs.Get().(*Buffer)
	if b == nil {
		b = &Buffer{}
	}
	b.class, b.whole = c, m
	b.Init(m.mem[front:front+n], true, p)
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

// take returns memory for n bytes and its size class. fresh reports that it was never
// used, and so is zero.
func (p *Pool) take(n int) (m piece, c int8, fresh bool, err error) {
	c = classOf(n)
	if c < 0 {
		m, err := p.mapping(n)
		return m, c, true, err
	}
	if m := p.reuse(c); m.mem != nil {
		return m, c, false, nil
	}
	size := 1 << (int(c) + minClassBits)
	m, err = p.mapping(max(size, slabBytes))
	if err != nil || size >= slabBytes {
		return m, c, true, err
	}
	cl := &p.classes[c]
	cl.mu.Lock()
	for off := size; off < slabBytes; off += size {
		cl.mu.free = append(cl.mu.free, piece{mem: m.mem[off : off+size : off+size], mapping: m.mapping})
		cl.mu.dirty++
	}
	cl.mu.Unlock()
	return piece{mem: m.mem[:size:size], mapping: m.mapping}, c, true, nil
}

// reuse returns memory that was freed before; a piece without mem if there is none.
func (p *Pool) reuse(c int8) piece {
	cl := &p.classes[c]
	cl.mu.Lock()
	k := len(cl.mu.free)
	if k == 0 {
		cl.mu.Unlock()
		return piece{}
	}
	m := cl.mu.free[k-1]
	cl.mu.free = cl.mu.free[:k-1]
	if !m.discarded {
		cl.mu.dirty--
	}
	cl.mu.Unlock()
	if m.discarded {
		m.discarded = false
		p.discarded.Add(-int64(cap(m.mem)))
	}
	if cap(m.mem) >= slabBytes {
		p.kept.Add(-int64(cap(m.mem)))
	}
	return m
}

// keepBytes limits the memory that the classes of whole mappings keep for reuse,
// together. Classes cut from slabs never return memory to the system: a slab is small
// and its pieces are mixed.
const keepBytes = 256 << 20

// Free is called by the last Release of a buffer.
func (p *Pool) Free(b *Buffer) {
	m, c := b.whole, b.class
	invariant.Poison(m.mem)
	b.data, b.whole, b.owner = nil, piece{}, nil
	p.structs.Put(b)
	n := cap(m.mem)
	p.keep(m, c)
	p.outstanding.Add(-1)
	if p.account != nil {
		p.account.Return(n)
	}
}

// keep keeps memory for reuse or unmaps it.
func (p *Pool) keep(m piece, c int8) {
	if c < 0 {
		p.unmapping(m)
		return
	}
	if size := int64(cap(m.mem)); size >= slabBytes && p.kept.Add(size) > keepBytes {
		p.kept.Add(-size)
		p.unmapping(m)
		return
	}
	cl := &p.classes[c]
	cl.mu.Lock()
	cl.mu.free = append(cl.mu.free, m)
	cl.mu.dirty++
	cl.mu.Unlock()
}

func (p *Pool) mapping(n int) (piece, error) {
	if p.account != nil {
		if limit := p.account.Limit(); limit > 0 && p.Resident()+int64(n) > limit {
			p.Trim()
		}
	}
	m, err := p.source.Map(n)
	if err != nil {
		return piece{}, err
	}
	p.bytes.Add(int64(cap(m.Bytes)))
	if m.File == nil {
		return piece{mem: m.Bytes}, nil
	}
	of := m
	return piece{mem: m.Bytes, mapping: &of}, nil
}

// unmapping unmaps a piece that is a whole mapping.
func (p *Pool) unmapping(m piece) {
	p.bytes.Add(-int64(cap(m.mem)))
	if m.mapping != nil {
		p.source.Unmap(*m.mapping)
		return
	}
	p.source.Unmap(Mapping{Bytes: m.mem})
}

// Count adds n bytes, which may be negative, of memory that a backend has allocated for tensors to
// what the pool's account counts.
func (p *Pool) Count(n int) {
	switch {
	case p == nil || p.account == nil:
	case n >= 0:
		p.account.Add(n)
	default:
		p.account.Return(-n)
	}
}

// Location returns the location of the pool's memory.
func (p *Pool) Location() Location { return p.source.Location() }

// Shared implements Sharer.
func (p *Pool) Shared(b *Buffer) (file *os.File, offset int64, ok bool) {
	of := b.whole.mapping
	if of == nil {
		return nil, 0, false
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b.data))) - uintptr(unsafe.Pointer(unsafe.SliceData(of.Bytes)))
	return of.File, of.Offset + int64(at), true
}

// Holds returns how many bytes of the pool a buffer occupies; 0 if it is not of this
// pool.
func (p *Pool) Holds(b *Buffer) int {
	if b.owner != Owner(p) {
		return 0
	}
	return cap(b.whole.mem)
}

// Outstanding returns the number of buffers that are not released; 0 at the end of
// every test.
func (p *Pool) Outstanding() int64 { return p.outstanding.Load() }

// Resident returns the part of Bytes that the system holds memory for, at most.
func (p *Pool) Resident() int64 { return p.bytes.Load() - p.discarded.Load() }

// Bytes returns the mapped memory in bytes, in use or kept.
func (p *Pool) Bytes() int64 { return p.bytes.Load() }
