package grpcapi

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/mem"

	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
	"triton/server/access/policy"
	"triton/server/infer"
)

// Models in child processes need their inputs in one piece of memory that the child can map. Large
// raw contents are copied there while they arrive. So the frames are few, the same for all messages,
// and stay in the processor's cache, and the message takes its memory once. Otherwise it is
// first collected in frames, which are out of the cache when the last one has arrived.
const (
	// minContents is the size from which contents are copied while they arrive. Frames of smaller
	// ones stay in the cache as long as they are needed.
	minContents = 512 << 10
	// maxContents limits the memory that one message reserves for bytes that have not arrived.
	maxContents = 64 << 20
	// maxReserved limits what the messages of one connection reserve. Others are collected in frames.
	maxReserved = 2 * maxContents
	// chunk is how much is read before it is copied.
	chunk = 8 * frameSize
	// fastBytes is the number of bytes per second below which whole steps are read before they
	// are copied: that lets gRPC enlarge the flow control window of a client that is far away.
	fastBytes = 64 << 20
)

// placer finds memory for the contents of messages.
type placer interface {
	// memoryFor returns nil if the contents are to stay in frames.
	memoryFor(a rpc.Arriving) *tensor.Buffer
	readArriving(first mem.BufferSlice, total int) (rpc.Arriving, bool)
}

// readArriving implements placer.
func (in *incoming) readArriving(first mem.BufferSlice, total int) (rpc.Arriving, bool) {
	return in.service.codec.ReadArriving(first, total)
}

// memoryFor implements placer. A caller gets no memory of models that it may not use.
func (in *incoming) memoryFor(a rpc.Arriving) *tensor.Buffer {
	if in.permission != nil && !in.permission.May(policy.ActionInfer, a.ModelName, a.ModelVersion) {
		return nil // the call is refused when the message is there
	}
	return in.service.memoryFor(a)
}

func (s *service) memoryFor(a rpc.Arriving) *tensor.Buffer {
	m, err := s.svc.Model(a.ModelName, a.ModelVersion)
	if err != nil {
		return nil // the error is reported when the message is there
	}
	defer m.Release()
	if p, ok := m.(infer.InputPooler); ok {
		if pool := p.InputPool(); pool != nil {
			b, _ := pool.TryGet(a.Size) // without memory, frames take what there is
			return b
		}
	}
	return nil
}

// readContents reads a message of n bytes into data, the contents of its only input into memory
// that its model takes.
func (m *messageReader) readContents(n int) error {
	begun := infer.Now()
	if err := m.step(firstStep); err != nil {
		return err
	}
	n -= firstStep
	step := stepAfter(firstStep, begun)
	a, ok := m.place.readArriving(m.data, firstStep+n)
	if !ok || a.Size < minContents || a.Size > maxContents {
		return m.readSteps(n, step)
	}
	b := m.reserve(a)
	if b == nil {
		return m.readSteps(n, step)
	}
	m.placed.Buffer = b
	here := copyFrom(b.Bytes(), m.data, a.Contents)
	m.data = cut(m.data, a.Contents)
	if err := m.fill(b.Bytes()[here:]); err != nil {
		return err
	}
	m.unreserve()
	m.placed.Frame = len(m.data)
	m.data = append(m.data, rpc.Lend(b))
	return m.read(n - (a.Size - here))
}

// reserve returns memory for the contents; nil if there is none, or if too much is reserved for the
// connection.
func (m *messageReader) reserve(a rpc.Arriving) *tensor.Buffer {
	m.reserved = a.Size
	if m.charge.conn.reserved.Add(int64(a.Size)) > maxReserved {
		m.unreserve()
		return nil
	}
	b := m.place.memoryFor(a)
	if b == nil {
		m.unreserve()
	}
	return b
}

// unreserve ends the reservation: the contents have arrived, or will not.
func (m *messageReader) unreserve() {
	m.charge.conn.reserved.Add(-int64(m.reserved))
	m.reserved = 0
}

// fill reads len(b) bytes, in steps as read does.
func (m *messageReader) fill(b []byte) error {
	step, read := maxStep/8, chunk
	for len(b) > 0 {
		if len(b) <= step+step/8 {
			step = len(b)
		}
		begun := infer.Now()
		if err := m.copyStep(b[:step], read); err != nil {
			return err
		}
		took := time.Duration(infer.Now() - begun)
		b = b[step:]
		if read = chunk; took > time.Duration(step)*time.Second/fastBytes {
			read = maxStep
		}
		if step = maxStep; took > fastStep {
			step = firstStep
		}
	}
	return nil
}

// copyStep reads len(b) bytes that are charged at once, some of them at a time.
func (m *messageReader) copyStep(b []byte, read int) error {
	if err := m.charge.takeForCaller(len(b)); err != nil {
		return err
	}
	pace := &m.charge.conn.pace
	begun := pace.begin()
	defer func() { pace.end(begun) }()
	for len(b) > 0 {
		frames, err := m.from.Read(min(read, len(b)))
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return transportError(err)
		}
		b = b[copyFrom(b, frames, 0):]
		frames.Free()
	}
	return nil
}

// copyFrom copies the bytes of frames from one on and returns their number.
func copyFrom(b []byte, frames mem.BufferSlice, from int) int {
	n := 0
	for _, f := range frames {
		data := f.ReadOnlyData()
		if from < len(data) {
			n += copy(b[n:], data[from:])
		}
		from = max(from-len(data), 0)
	}
	return n
}

// cut returns the first n bytes of frames, which have more, and frees the frames behind them.
func cut(frames mem.BufferSlice, n int) mem.BufferSlice {
	for i, f := range frames {
		if n < f.Len() {
			frames[i] = f.Slice(0, n)
			f.Free()
			frames[i+1:].Free()
			clear(frames[i+1:])
			return frames[:i+1]
		}
		n -= f.Len()
	}
	return frames
}
