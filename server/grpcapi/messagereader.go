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
	// contents finds the memory for large raw contents; nil: they stay in frames.
	contents contentsMemory
	arrived  rpc.Arrived // the contents in it, as a frame of data
	reserved int         // bytes of the contents, until all have arrived
}

// begin prepares the reader for a call that was admitted, or has no guard.
func (in *messageReader) begin(ctx context.Context, limit int, admitted *admission) error {
	in.from, in.limit = transportOf(ctx), limit
	in.charge = newCharge(connBudgetOf(ctx))
	in.charge.memory.For(admitted.account())
	if err := in.charge.conn.idle.begin(in.charge.conn.use); err != nil {
		return err
	}
	in.idle = true
	return nil
}

// arrives counts the call as in flight, because its message has begun.
func (in *messageReader) arrives() {
	if in.single {
		in.charge.conn.idle.end()
		in.charge.conn.use.Begin()
		in.idle, in.busy = false, true
	}
}

// length returns the bytes of the last message, as they were sent.
func (in *messageReader) length() int64 { return int64(binary.BigEndian.Uint32(in.header[1:])) }

// next reads a message into data. Its memory is charged until end. The error is io.EOF
// if the client has half-closed, or else has a status.
func (in *messageReader) next() error {
	if err := in.from.ReadMessageHeader(in.header[:]); err != nil {
		return transportError(err)
	}
	in.arrives()
	length := int(binary.BigEndian.Uint32(in.header[1:]))
	if length > in.limit {
		return grpcstatus.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", length, in.limit)
	}
	if err := in.charge.memory.Expect(length); err != nil {
		return statusError(err)
	}
	read := in.read
	if in.contents != nil && in.header[0] == 0 && length >= minContents+firstStep {
		read = in.readContents
	}
	if err := read(length); err != nil {
		in.free()
		return err
	}
	if in.takesLong(length) {
		nonblock.Announce()
	}
	return in.decompress()
}

// takesLong reports whether decoding a message of n bytes that has arrived may take so long that it
// has to be interrupted for others. Contents in the memory of their model are not decoded, what is
// around them is.
func (in *messageReader) takesLong(n int) bool {
	if in.arrived.Buffer != nil {
		n -= in.arrived.Buffer.Len()
	}
	return in.header[0] != 0 || n > firstStep
}

// transportError converts an error of the transport to the status of a call.
func transportError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return grpcstatus.Error(codes.Internal, io.ErrUnexpectedEOF.Error())
	}
	return err // has a status, or is io.EOF
}

// read reads n bytes into data.
func (in *messageReader) read(n int) error { return in.readSteps(n, firstStep) }

// readSteps is read with a first step of that many bytes.
func (in *messageReader) readSteps(n, step int) error {
	for n > step+step/8 { // a small rest joins the last step
		begun := infer.Now()
		if err := in.step(step); err != nil {
			return err
		}
		n -= step
		step = stepAfter(step, begun)
	}
	if n == 0 {
		return nil
	}
	return in.step(n)
}

// stepAfter returns the size of the step that follows one of that size, which began at a time.
func stepAfter(step int, begun int64) int {
	if time.Duration(infer.Now()-begun) > fastStep {
		return firstStep
	}
	return min(8*((step+frameSize-1)/frameSize*frameSize), maxStep)
}

// step reads n bytes more.
func (in *messageReader) step(n int) error {
	if err := in.charge.Take(n); err != nil {
		return err
	}
	w := in.await()
	frames, err := in.from.Read(n)
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
	in.data = append(in.data, frames...)
	return in.charge.Take(overhead(frames))
}

// wait is the wait for more of a message whose memory is charged.
type wait struct {
	conn    *connBudget
	tick    uint32
	arrival *memory.Arrival
}

func (in *messageReader) await() wait {
	c := &in.charge
	return wait{c.conn, c.conn.pace.begin(), c.memory.Arriving(c.conn)}
}

// end ends the wait. The error says that the memory is needed for others.
func (w wait) end() error {
	w.conn.pace.end(w.tick)
	return w.arrival.End()
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
func (in *messageReader) expectEnd() error {
	w := in.await()
	err := in.from.ReadMessageHeader(in.header[:])
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
func (in *messageReader) free() {
	if in.arrived.Buffer != nil {
		in.unreserve()
		in.arrived.Buffer.Release()
		in.arrived = rpc.Arrived{}
	}
	in.data.Free()
	clear(in.data)
	in.data = in.data[:0]
	if cap(in.data) > keepFrames {
		in.data = nil
	}
}

// end releases the frames and everything that the call was charged for.
func (in *messageReader) end() {
	in.free()
	in.charge.end()
	if in.idle {
		in.charge.conn.idle.end()
	}
	if in.busy {
		in.charge.conn.use.End()
	}
	in.idle, in.busy = false, false
}

// unmarshal reads the only message of a call into a generated message.
func (in *messageReader) unmarshal(v any) error {
	err := in.next()
	if errors.Is(err, io.EOF) {
		return errNoMessage
	}
	if err != nil {
		return err
	}
	if err := in.decode(v); err != nil {
		return err
	}
	return in.expectEnd()
}

// decode reads data into a generated message.
func (in *messageReader) decode(v any) error {
	defer in.free()
	if err := in.charge.Take(in.decodedSize(v)); err != nil {
		return err
	}
	if err := encoding.GetCodecV2(protocodec.Name).Unmarshal(in.data, v); err != nil {
		return grpcstatus.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	if m, ok := v.(proto.Message); ok {
		return checkNames(m)
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
func (in *messageReader) decodedSize(v any) int {
	n := in.data.Len()
	if _, ok := v.(*inferencepb.RepositoryModelLoadRequest); ok { // has whole files in it
		const parametersField = 3
		return 3*n + perEntry*rpc.CountFields(in.data, parametersField)
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
