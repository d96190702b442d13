package grpcapi

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/nonblock"
	"triton/server/infer"
	"triton/server/memory"
)

// A message is read in steps. Each step is charged before it is read, which is when the
// client may send it.
const (
	// firstStep is the payload of four HTTP/2 frames without the header of the
	// message, so that no frame is split. Most messages are one step.
	firstStep = 4*frameSize - headerSize
	maxStep   = 4 << 20
	frameSize = 16 << 10
)

// headerSize is the size of the header of each message: whether it is compressed, and
// its length.
const headerSize = 5

// messageReader reads the messages of one call within the memory budgets.
type messageReader struct {
	from   transport
	limit  int // bytes of a message
	charge charge
	// single: the call has one message. Until that begins the call is idle: it does not keep its connection
	// from making room for others. A stream is always idle here; others count its requests.
	single bool
	idle   bool // counted as idle
	busy   bool // counted as in flight
	header [headerSize]byte
	data   mem.BufferSlice // the message, until free
	// place finds the memory for large raw contents; nil: they stay in frames.
	place    placer
	placed   rpc.Arrived // the contents in it, as a frame of data
	reserved int         // bytes of the contents, until all have arrived
}

// begin prepares the reader for a call that was admitted, or has no guard.
func (m *messageReader) begin(ctx context.Context, limit int, granted *permission) error {
	m.from, m.limit = transportOf(ctx), limit
	m.charge = newCharge(connBudgetOf(ctx))
	m.charge.memory.For(granted.account())
	if err := m.charge.conn.idle.begin(m.charge.conn.use); err != nil {
		return err
	}
	m.idle = true
	return nil
}

// begun counts the call as in flight, because its message has begun.
func (m *messageReader) begun() {
	if m.single {
		m.charge.conn.idle.end()
		m.charge.conn.use.Begin()
		m.idle, m.busy = false, true
	}
}

// length returns the bytes of the last message, as they were sent.
func (m *messageReader) length() int64 { return int64(binary.BigEndian.Uint32(m.header[1:])) }

// next reads a message into data. Its memory is charged until end. The error is io.EOF
// if the client has half-closed, or else has a status.
func (m *messageReader) next() error {
	if err := m.from.ReadMessageHeader(m.header[:]); err != nil {
		return transportError(err)
	}
	m.begun()
	length := int(binary.BigEndian.Uint32(m.header[1:]))
	if length > m.limit {
		return grpcstatus.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", length, m.limit)
	}
	if err := m.charge.memory.Expect(length); err != nil {
		return statusError(err)
	}
	read := m.read
	if m.place != nil && m.header[0] == 0 && length >= minContents+firstStep {
		read = m.readContents
	}
	if err := read(length); err != nil {
		m.free()
		return err
	}
	if m.takesLong(length) {
		nonblock.Announce()
	}
	return m.decompress()
}

// takesLong reports whether decoding a message of n bytes that has arrived may take so long that it
// has to be interrupted for others. Contents in the memory of their model are not decoded, what is
// around them is.
func (m *messageReader) takesLong(n int) bool {
	if m.placed.Buffer != nil {
		n -= m.placed.Buffer.Len()
	}
	return m.header[0] != 0 || n > firstStep
}

// transportError converts an error of the transport to the status of a call.
func transportError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return grpcstatus.Error(codes.Internal, io.ErrUnexpectedEOF.Error())
	}
	return err // has a status, or is io.EOF
}

// read reads n bytes into data.
func (m *messageReader) read(n int) error { return m.readSteps(n, firstStep) }

// readSteps is read with a first step of that many bytes.
func (m *messageReader) readSteps(n, step int) error {
	for n > step+step/8 { // a small rest joins the last step
		begun := infer.Now()
		if err := m.step(step); err != nil {
			return err
		}
		n -= step
		step = stepAfter(step, begun)
	}
	if n == 0 {
		return nil
	}
	return m.step(n)
}

// stepAfter returns the size of the step that follows one of that size, which began at a time.
func stepAfter(step int, begun int64) int {
	if time.Duration(infer.Now()-begun) > fastStep {
		return firstStep
	}
	return min(8*((step+frameSize-1)/frameSize*frameSize), maxStep)
}

// step reads n bytes more.
func (m *messageReader) step(n int) error {
	if err := m.charge.Take(n); err != nil {
		return err
	}
	w := m.await()
	frames, err := m.from.Read(n)
	stopped := w.end()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return transportError(err)
	}
	if stopped != nil {
		frames.Free()
		return statusError(stopped)
	}
	if len(frames)*smallFrame > n+smallFrame {
		frames = merge(frames)
	}
	m.data = append(m.data, frames...)
	return m.charge.Take(overhead(frames))
}

// wait is the wait for more of a message whose memory is charged.
type wait struct {
	conn *connBudget
	tick uint32
	slow *memory.Arrival
}

func (m *messageReader) await() wait {
	c := &m.charge
	return wait{c.conn, c.conn.pace.begin(), c.memory.Arriving(c.conn)}
}

// end ends the wait. The error says that the memory is needed for others.
func (w wait) end() error {
	w.conn.pace.end(w.tick)
	return w.slow.End()
}

// smallFrame is the average size of frames, in bytes, below which they are copied into
// one: a frame of one byte would take fifty.
const smallFrame = 256

func merge(frames mem.BufferSlice) mem.BufferSlice {
	defer frames.Free()
	return mem.BufferSlice{frames.MaterializeToBuffer(mem.DefaultBufferPool())}
}

// overhead returns the memory of frames beyond their bytes: gRPC's buffers have few
// sizes, each four times the one before. A frame that carries several messages is
// shared by them.
func overhead(frames mem.BufferSlice) int {
	n := 0
	for _, f := range frames {
		b := f.ReadOnlyData()
		n += min(cap(b)-len(b), 3*len(b))
	}
	return n
}

// expectEnd returns an error if a second message follows.
func (m *messageReader) expectEnd() error {
	w := m.await()
	err := m.from.ReadMessageHeader(m.header[:])
	stopped := w.end()
	switch {
	case stopped != nil:
		return statusError(stopped)
	case err == nil:
		return errManyMessages
	case errors.Is(err, io.EOF):
		return nil
	default:
		return transportError(err)
	}
}

// keepFrames is the length of the longest list of frames that is reused.
const keepFrames = 128

// free releases the frames that have not been retained.
func (m *messageReader) free() {
	if m.placed.Buffer != nil {
		m.unreserve()
		m.placed.Buffer.Release()
		m.placed = rpc.Arrived{}
	}
	m.data.Free()
	clear(m.data)
	m.data = m.data[:0]
	if cap(m.data) > keepFrames {
		m.data = nil
	}
}

// end releases the frames and everything that the call was charged for.
func (m *messageReader) end() {
	m.free()
	m.charge.end()
	if m.idle {
		m.charge.conn.idle.end()
	}
	if m.busy {
		m.charge.conn.use.End()
	}
	m.idle, m.busy = false, false
}

// unmarshal reads the only message of a call into a generated message.
func (m *messageReader) unmarshal(v any) error {
	err := m.next()
	if errors.Is(err, io.EOF) {
		return errNoMessage
	}
	if err != nil {
		return err
	}
	if err := m.decode(v); err != nil {
		return err
	}
	return m.expectEnd()
}

// decode reads data into a generated message.
func (m *messageReader) decode(v any) error {
	defer m.free()
	if err := m.charge.Take(m.decodedSize(v)); err != nil {
		return err
	}
	if err := encoding.GetCodecV2(protocodec.Name).Unmarshal(m.data, v); err != nil {
		return grpcstatus.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	if message, ok := v.(proto.Message); ok {
		return checkNames(message)
	}
	return nil
}

// A generated message takes more memory than its bytes: a list or a map of nothing takes two bytes an
// element on the wire.
const (
	perByte  = 48  // bytes of memory for each byte of a message that may be all elements
	perEntry = 512 // bytes of memory for each parameter of a load
)

// decodedSize returns an upper bound for the memory of the message that data becomes.
func (m *messageReader) decodedSize(v any) int {
	n := m.data.Len()
	if _, ok := v.(*inferencepb.RepositoryModelLoadRequest); ok { // has whole files in it
		const parametersField = 3
		return 3*n + perEntry*rpc.CountFields(m.data, parametersField)
	}
	return perByte * n
}

// checkNames applies the limit of names to the string fields of a message, which errors and
// replies repeat.
func checkNames(m proto.Message) (err error) {
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Kind() == protoreflect.StringKind && !f.IsList() && !f.IsMap() {
			err = kserve.CheckLength("field "+string(f.Name()), len(v.String()), kserve.MaxName)
		}
		return err == nil
	})
	if err != nil {
		return statusError(err)
	}
	return nil
}

// The texts are gRPC's.
var (
	errNoMessage = grpcstatus.Error(codes.Internal,
		"cardinality violation: received no request message from non-client-streaming RPC")
	errManyMessages = grpcstatus.Error(codes.Internal,
		"cardinality violation: received multiple request messages for non-client-streaming RPC")
)
