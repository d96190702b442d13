package isolated

import (
	"os"
	"sync"
	"sync/atomic"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend/child"
	"triton/server/backend/isolated/host"
)

// place makes an input available to the child. Only an input that is not in the memory file is
// copied.
func (s *session) place(d *tensor.Data) (host.Place, error) {
	n := d.Len()
	if at, ok := s.memory.Find(d); ok {
		number := s.blocks.Add(d.Segment(0).Buffer.Retain())
		return host.Place{Block: number, At: uint64(at), Size: uint64(n)}, nil
	}
	b, at := s.memory.Allocate(n)
	if b == nil {
		return host.Place{}, host.ErrNoMemory(n)
	}
	if err := tensor.CopyShared(b.Bytes(), d); err != nil {
		b.Release()
		return host.Place{}, err
	}
	s.pool.CopiedToModel(n)
	return host.Place{Block: s.blocks.Add(b), At: uint64(at), Size: uint64(n)}, nil
}

// Data returns an output in the child's memory. It refers to the memory until it is released;
// then the child may use the memory again.
func (s *session) Data(p host.Place) (tensor.Data, error) {
	d, ok := s.blocks.SliceAt(p.Block, p.At, p.Size)
	if !ok {
		return tensor.Data{}, status.New(status.Internal, "an output of model '%s' is outside of its memory", s.name)
	}
	if p.Lease == 0 {
		return d, nil
	}
	l := leases.Get().(*lease)
	l.session, l.number, l.of = s, p.Lease, d.Segment(0)
	l.buffer.Init(l.of.Bytes(), true, l)
	return tensor.NewData(&l.buffer), nil
}

// Keep copies an output out of a frame.
func (s *session) Keep(b []byte) (tensor.Data, error) {
	to, err := s.pool.TryGet(len(b))
	if err != nil {
		return tensor.Data{}, status.New(status.Internal, "no memory for an output of %d bytes: %w", len(b), err)
	}
	copy(to.Bytes(), b)
	s.pool.CopiedToClient(len(b))
	return tensor.NewData(to), nil
}

// Name returns the configuration's string for a name that it has, so that nothing is
// allocated.
func (s *session) Name(b []byte) string {
	if known, ok := s.names[string(b)]; ok {
		return known
	}
	return string(b)
}

// lease is an output that the server uses.
type lease struct {
	buffer  tensor.Buffer
	session *session
	number  uint32
	of      tensor.Segment // holds a reference
}

var _ tensor.Sharer = (*lease)(nil)

var leases = sync.Pool{New: func() any { return &lease{} }}

// Free returns the output to the child.
func (l *lease) Free(*tensor.Buffer) {
	s, number, n := l.session, l.number, l.of.N
	l.of.Buffer.Release()
	l.session, l.of = nil, tensor.Segment{}
	leases.Put(l)
	s.giveBack(number, n)
}

// Shared returns where another child can map the output.
func (l *lease) Shared(*tensor.Buffer) (*os.File, int64, bool) {
	file, offset, ok := l.of.Buffer.Shared()
	return file, offset + int64(l.of.Off), ok
}

// Outputs are returned with the next batch, or at once if so many wait.
const (
	maxReturns     = 64
	maxReturnBytes = 8 << 20
)

// giveBack returns an output to the child.
func (s *session) giveBack(number uint32, n int) {
	s.mu.Lock()
	s.mu.returns = append(s.mu.returns, number)
	s.mu.returnBytes += n
	many := len(s.mu.returns) >= maxReturns || s.mu.returnBytes >= maxReturnBytes
	s.mu.Unlock()
	if many {
		var m child.Message
		s.putReturns(m.Begin(host.Return))
		_ = s.process.Post(&m) // the body is short
	}
}

// putReturns writes the outputs to return.
func (s *session) putReturns(m *child.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Uint32(uint32(len(s.mu.returns)))
	for _, n := range s.mu.returns {
		m.Uint32(n)
	}
	s.mu.returns, s.mu.returnBytes = s.mu.returns[:0], 0
}

// grant answers a child that asks for memory. Block 0 means that there is none.
func (s *session) grant(p *child.Process, r *child.Reader) {
	question, size := r.Uint32(), r.Uint64()
	if r.Err() != nil {
		return
	}
	var number uint32
	var at int64
	if size <= maxGrant && s.total.add(int64(size)) {
		var b *tensor.Buffer
		if b, at = s.memory.AllocateZeroed(int(size)); b != nil {
			number = s.blocks.Add(b)
			s.mu.Lock()
			s.mu.granted[number] = int64(size)
			s.mu.Unlock()
		} else {
			s.total.add(-int64(size))
		}
	}
	m := s.out.Begin(host.Block)
	m.Uint32(question)
	m.Uint32(number)
	m.Uint64(uint64(at))
	m.Uint64(size)
	_ = p.Post(m) // the body is short
}

// granted is the memory that all children have.
type granted struct {
	limit int64 // 0: none
	bytes atomic.Int64
}

// add counts more or, with a negative number, less memory. It reports false and counts nothing if it would
// be more than the limit.
func (g *granted) add(n int64) bool {
	if now := g.bytes.Add(n); n > 0 && g.limit > 0 && now > g.limit {
		g.bytes.Add(-n)
		return false
	}
	return true
}

// maxGrant bounds the size that a child may ask for. The range of a larger one, which a wrong
// calculation of a backend can ask for, would be lost to all models, because no range of the memory
// file is used twice.
const maxGrant = 1 << 40

// released reads the blocks that the child gives back.
func (s *session) released(r *child.Reader) {
	for range r.Uint32() {
		number := r.Uint32()
		if r.Err() != nil {
			return
		}
		s.blocks.Drop(number)
		s.mu.Lock()
		s.total.add(-s.mu.granted[number])
		delete(s.mu.granted, number)
		s.mu.Unlock()
	}
}
