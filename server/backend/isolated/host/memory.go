package host

import (
	"errors"
	"os"
	"slices"
	"sort"
	"sync"

	"triton/pkg/tensor"
	"triton/server/backend/child"
)

// memory is the memory that the child shares with the server. Inputs are read where the server
// has put them, through a mapping that cannot be written to. Outputs are written to a pool
// over memory that the server grants; the server refers to them and returns them when they
// are not used any more.
type memory struct {
	pool   *tensor.Pool
	view   *view
	send   func(*child.Message)
	states []string // names of the model's states
	names  names

	mu struct {
		sync.Mutex
		questions map[uint32]chan grant
		last      uint32
		grants    []grant                 // in use, by offset
		leased    map[uint32]*tensor.Data // outputs that the server uses
		lastLease uint32
		released  []uint32 // blocks to give back with the next frame
	}
}

// grant is memory that the server grants.
type grant struct {
	block        uint32
	offset, size uint64
}

func newMemory(file *os.File, send func(*child.Message)) *memory {
	m := &memory{view: newView(file), send: send}
	m.mu.questions, m.mu.leased = map[uint32]chan grant{}, map[uint32]*tensor.Data{}
	m.pool = tensor.NewPoolOf(tensor.PoolOptions{Source: source{m}})
	return m
}

// source is the Source of the pool.
type source struct{ *memory }

var _ tensor.Source = source{}

// Map asks the server for memory. It must not be called on the goroutine that reads frames.
func (s source) Map(n int) (tensor.Mapping, error) {
	answer := make(chan grant, 1)
	s.mu.Lock()
	s.mu.last++
	number := s.mu.last
	s.mu.questions[number] = answer
	s.mu.Unlock()
	var m child.Message
	m.Begin(Reserve).Uint32(number)
	m.Uint64(uint64(n))
	s.send(&m)
	g := <-answer
	if g.block == 0 {
		return tensor.Mapping{}, errors.New("the server has no more memory for tensors")
	}
	mem, err := s.view.mapRange(int64(g.offset), n)
	if err != nil {
		s.release(g.block)
		return tensor.Mapping{}, err
	}
	s.mu.Lock()
	s.mu.grants = slices.Insert(s.mu.grants, s.after(g.offset), g)
	s.mu.Unlock()
	return tensor.Mapping{Bytes: mem, File: s.view.file, Offset: int64(g.offset)}, nil
}

// Unmap gives memory back to the server.
func (s source) Unmap(at tensor.Mapping) {
	s.mu.Lock()
	i := s.after(uint64(at.Offset)) - 1
	block := s.mu.grants[i].block
	s.mu.grants = slices.Delete(s.mu.grants, i, i+1)
	s.mu.Unlock()
	s.view.unmapRange(at.Bytes)
	s.release(block)
	s.flush()
}

// after returns the index of the first grant behind an offset. The caller holds the lock.
func (m *memory) after(offset uint64) int {
	return sort.Search(len(m.mu.grants), func(i int) bool { return m.mu.grants[i].offset > offset })
}

// Location returns the memory of the processor.
func (source) Location() tensor.Location { return tensor.Location{} }

// granted hands a grant to the goroutine that waits for it.
func (m *memory) granted(r *child.Reader) {
	number := r.Uint32()
	g := grant{block: r.Uint32(), offset: r.Uint64(), size: r.Uint64()}
	m.mu.Lock()
	answer := m.mu.questions[number]
	delete(m.mu.questions, number)
	m.mu.Unlock()
	if answer != nil {
		answer <- g
	}
}

// release gives a block back with the next frame.
func (m *memory) release(block uint32) {
	m.mu.Lock()
	m.mu.released = append(m.mu.released, block)
	many := len(m.mu.released) >= maxReleased
	m.mu.Unlock()
	if many {
		m.flush()
	}
}

// putReleased writes the blocks to give back at the end of a frame.
func (m *memory) putReleased(out *child.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out.Uint32(uint32(len(m.mu.released)))
	for _, n := range m.mu.released {
		out.Uint32(n)
	}
	m.mu.released = m.mu.released[:0]
}

// flush gives blocks back without waiting for another frame.
func (m *memory) flush() {
	m.mu.Lock()
	none := len(m.mu.released) == 0
	m.mu.Unlock()
	if none {
		return
	}
	var out child.Message
	m.putReleased(out.Begin(Release))
	m.send(&out)
}

// returned reads the outputs that the server has released.
func (m *memory) returned(r *child.Reader) {
	for range r.Uint32() {
		number := r.Uint32()
		m.mu.Lock()
		d := m.mu.leased[number]
		delete(m.mu.leased, number)
		m.mu.Unlock()
		if d != nil {
			d.Release()
		}
	}
}

// maxReleased is the number of blocks that wait for a frame to go back with.
const maxReleased = 32

// input is memory of the server that the child reads.
type input struct {
	buffer tensor.Buffer
	memory *memory
	window *window
	block  uint32
	at     int64 // its offset in the memory file
}

var _ tensor.Owner = (*input)(nil)

var inputs = sync.Pool{New: func() any { return &input{} }}

// Free gives the memory back.
func (in *input) Free(*tensor.Buffer) {
	m, w, block := in.memory, in.window, in.block
	in.memory, in.window = nil, nil
	inputs.Put(in)
	m.view.leave(w)
	m.release(block)
}

// Data returns the bytes of an input where the server has put them.
func (m *memory) Data(p Place) (tensor.Data, error) {
	w, mem, err := m.view.enter(int64(p.At), int(p.Size))
	if err != nil {
		m.release(p.Block)
		return tensor.Data{}, err
	}
	in := inputs.Get().(*input)
	in.memory, in.window, in.block, in.at = m, w, p.Block, int64(p.At)
	in.buffer.Init(mem, true, in)
	return tensor.NewData(&in.buffer), nil
}

// Keep copies bytes out of a frame.
func (m *memory) Keep(b []byte) (tensor.Data, error) {
	to, err := m.pool.TryGet(len(b))
	if err != nil {
		return tensor.Data{}, err
	}
	copy(to.Bytes(), b)
	return tensor.NewData(to), nil
}

// maxNames bounds the names that are kept, in case that clients choose some.
const maxNames = 1 << 10

// Name returns the same string for the same name, so that nothing is allocated.
func (m *memory) Name(b []byte) string { return m.names.of(b) }

// Copied counts nothing: the server counts the bytes of frames.
func (*memory) Copied(int) {}

// Place returns where the server finds an output. Only an output that is not in shared memory
// is copied.
func (m *memory) Place(d *tensor.Data) (Place, error) {
	c, err := m.share(d.Clone())
	if err != nil {
		return Place{}, err
	}
	s := c.Segment(0)
	if in, ok := s.Buffer.Owner().(*input); ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		// Without a lease the frame of another instance could give the block back first.
		return m.lend(in.block, in.at+int64(s.Off), s.N, c), nil
	}
	_, at, _ := s.Buffer.Shared()
	return m.lease(at+int64(s.Off), s.N, c)
}

// share returns data in one piece of shared memory, and takes d over.
func (m *memory) share(d tensor.Data) (tensor.Data, error) {
	if d.Segments() == 1 {
		b := d.Segment(0).Buffer
		if _, ok := b.Owner().(*input); ok {
			return d, nil
		}
		if _, _, ok := b.Shared(); ok {
			return d, nil
		}
	}
	defer d.Release()
	b, err := m.pool.TryGet(d.Len())
	if err != nil {
		return tensor.Data{}, err
	}
	d.CopyTo(b.Bytes())
	if _, _, ok := b.Shared(); !ok {
		b.Release()
		return tensor.Data{}, errNotShared
	}
	return tensor.NewData(b), nil
}

var errNotShared = errors.New("the memory is not shared")

// lease lends data to the server, and takes it over.
func (m *memory) lease(at int64, n int, d tensor.Data) (Place, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.after(uint64(at)) - 1
	if i < 0 {
		d.Release()
		return Place{}, errNotShared
	}
	return m.lend(m.mu.grants[i].block, at, n, d), nil
}

// lend lends data in a block to the server, and takes it over. The caller holds the lock.
func (m *memory) lend(block uint32, at int64, n int, d tensor.Data) Place {
	for m.mu.lastLease++; m.mu.lastLease == 0 || m.mu.leased[m.mu.lastLease] != nil; m.mu.lastLease++ { // skip the numbers in use
	}
	m.mu.leased[m.mu.lastLease] = &d
	return Place{Block: block, Lease: m.mu.lastLease, At: uint64(at), Size: uint64(n)}
}
