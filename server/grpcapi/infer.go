package grpcapi

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/server/access"
	"triton/server/infer"
	"triton/server/memory"
)

// incoming is the state for reading the messages of a call.
type incoming struct {
	reader  messageReader
	message rpc.Request
	ctx     context.Context // of the call
	service *service
	// permission is that of the call's caller; nil without a guard.
	permission *permission
	entry      access.Entry // of the call, once its model is known
}

var incomings = sync.Pool{New: func() any { return &incoming{} }}

// HeaderValue returns the first value of the call's metadata, for rules that choose a version.
func (in *incoming) HeaderValue(name string) string {
	return header(in.ctx, name)
}

// header returns the first value of a call's metadata.
func header(ctx context.Context, name string) string {
	if v := metadata.ValueFromIncomingContext(ctx, name); len(v) > 0 {
		return v[0]
	}
	return ""
}

// end releases everything.
func (in *incoming) end() {
	in.reader.end()
	*in = incoming{reader: messageReader{data: in.reader.data}}
	incomings.Put(in)
}

// modelInfer is the handler of ModelInfer, for which gRPC calls no interceptor: see serviceDesc.
func modelInfer(srv any, conn grpc.ServerStream) error {
	s := srv.(*service)
	if s.opts.AccessLog == nil {
		return s.modelInfer(conn, nil)
	}
	var record callRecord
	start := infer.Now()
	err := s.modelInfer(conn, &record)
	logCall(conn.Context(), s.opts.AccessLog, rpc.ModelInfer, start, &record, err)
	return err
}

func (s *service) modelInfer(conn grpc.ServerStream, record *callRecord) (err error) {
	id := ""
	s.opts.logRequest(rpc.ModelInfer)
	defer func() { s.opts.logFailed(id, err) }()
	defer s.panics.recover(rpc.ModelInfer, &err)
	testDelay(s.opts.Delays.Process + s.opts.Delays.ProcessEntry)
	if err := s.restrictions.check(conn.Context(), rpc.ModelInfer); err != nil {
		return err
	}
	var caller *permission
	if s.opts.checksCallers() {
		caller = s.opts.begin(conn.Context(), rpc.ModelInfer)
		defer caller.leave()
		if caller.refusal == nil {
			caller.refusal = caller.RefuseUnread(&caller.call)
		}
		if caller.refusal != nil {
			return refuse(conn, caller.refusal)
		}
	}
	s.opts.Compression.compress(conn.Context())
	clock := s.startClock()
	in := incomings.Get().(*incoming)
	defer in.end() // its memory is charged as long as the call lasts
	in.ctx, in.permission, in.reader.single = conn.Context(), caller, true
	r, invalid, err := s.receiveOne(conn, in)
	if err != nil {
		return err
	}
	clock.read(s)
	id = r.ID
	if record != nil {
		record.request(r.ModelName, r.ID)
	}
	if caller != nil {
		var refusal *access.Refusal
		if in.entry, refusal = caller.admitRequest(conn.Context(), r, in.reader.length()); refusal != nil {
			r.Discard()
			return refuse(conn, refusal)
		}
		defer func() { in.entry.End(endStatus(err), id) }()
	}
	return s.infer(conn, in, r, invalid, clock)
}

// receiveOne reads the only request of a call, with errors as in receive.
func (s *service) receiveOne(conn grpc.ServerStream, in *incoming) (r *infer.Request, invalid, err error) {
	if err := in.reader.begin(conn.Context(), s.opts.MaxReceive, in.permission); err != nil {
		return nil, nil, err
	}
	r, invalid, err = s.receive(in)
	if errors.Is(err, io.EOF) {
		return nil, nil, errNoMessage
	}
	if err != nil {
		return nil, nil, err
	}
	if err := in.reader.expectEnd(); err != nil {
		r.Discard()
		return nil, nil, err
	}
	r.Times.Received = infer.Now()
	return r, invalid, nil
}

// receive reads a request. invalid is a mistake in the request; err means that no request
// arrived.
func (s *service) receive(in *incoming) (r *infer.Request, invalid, err error) {
	in.service, in.reader.place = s, in // the call itself finds the memory for large contents
	if err := in.reader.next(); err != nil {
		return nil, nil, err
	}
	defer in.reader.free()
	r = infer.NewRequest() // after the wait for the message, so that the arrival time is now
	msg := &in.message
	*msg = rpc.Request{Message: &r.Request, Regions: s.regionsOf(in.permission), Budget: &in.reader.charge, Arrived: in.reader.placed}
	_ = s.codec.Unmarshal(in.reader.data, msg) // reports its errors in the message
	if msg.Broken != nil {
		r.Discard()
		return nil, nil, unreadable(msg.Broken)
	}
	if b := in.reader.placed.Buffer; b != nil {
		r.OwnInputs = true
		s.opts.Pool.CopiedToModel(b.Len())
	}
	return r, msg.Err, nil
}

// unreadable returns the status for a message that cannot be decoded or for which there is no
// memory.
func unreadable(err error) error {
	if e := (*status.Error)(nil); errors.As(err, &e) {
		return statusError(e)
	}
	if _, ok := grpcstatus.FromError(err); ok {
		return err // of the budget
	}
	return errParse
}

var errParse = grpcstatus.Error(codes.Internal, "Unable to parse request")

// infer finds the model, reports a mistake in the message, and runs the request.
func (s *service) infer(conn grpc.ServerStream, in *incoming, r *infer.Request, invalid error, clock clock) error {
	taken := false
	defer func() { // also after a panic
		if !taken {
			r.Discard()
		}
	}()
	m, err := infer.AcquireWithin(conn.Context(), s.svc, r.ModelName, r.ModelVersion, r.Timeout()) // also while the server drains
	if err != nil {
		return statusError(err)
	}
	defer func() { m.Release() }() // m changes: ChooseBy
	if m.Config().Decoupled() {
		invalid = errDecoupled
	}
	if invalid == nil {
		invalid = s.forward(conn.Context(), r)
	}
	if invalid != nil {
		return statusError(invalid)
	}
	in.entry.Spend(infer.RowsOf(m, r), 0) // the bytes were charged by admitRequest
	m = infer.ChooseBy(m, r, in)
	t := s.sample(conn.Context(), r, clock)
	defer t.Close()
	taken = true
	defer r.Release()
	ctx, cancel := withDeadlineMargin(conn.Context())
	defer cancel()
	resp, err := s.run(ctx, m, r)
	if err != nil {
		s.logCancelled(conn.Context(), "ModelInferHandler")
		t.Answered(0)
		return deadlineError(ctx, statusError(err))
	}
	t.Answered(r.Times.Answered)
	defer resp.Release()
	replied := s.opts.Memory.NewCharge(memory.Replies)
	replied.For(in.permission.account())
	defer replied.End()
	if err := replied.TakeForCaller(resp.Size()); err != nil {
		return statusError(err)
	}
	if err := classify(m, r, resp, &replied); err != nil {
		return statusError(err)
	}
	if err := checkSize(resp, 0); err != nil {
		return statusError(err)
	}
	if err := s.opts.chargeCompressed(resp, &replied); err != nil {
		return statusError(err)
	}
	testDelay(s.opts.Delays.ResponseCompletion)
	t.Sending()
	err = conn.SendMsg(&resp.Response)
	t.Sent()
	return err
}

// run calls Infer, with the delays that test suites set.
func (s *service) run(ctx context.Context, m infer.Model, r *infer.Request) (*infer.Response, error) {
	d := &s.opts.Delays
	if d.Notification > 0 {
		var cancel context.CancelFunc
		ctx, cancel = delayDone(ctx, d.Notification)
		defer cancel()
	}
	resp, err := m.Infer(ctx, r)
	testDelay(d.CompleteExec)
	if ctx.Err() != nil {
		testDelay(d.Enqueue)
	}
	return resp, err
}

// checkSize returns an error for a response that is too large for gRPC together with
// `around` more bytes.
func checkSize(resp *infer.Response, around int) error {
	size := dataSize(resp.Outputs)
	if size < math.MaxInt32/2 { // the rest of the message is smaller than that
		return nil
	}
	if size = rpc.ResponseSize(&resp.Response); size > math.MaxInt32-around {
		return status.New(status.InvalidArg, "Response has byte size %d which exceeds gRPC's byte size limit %d.",
			size, math.MaxInt32)
	}
	return nil
}

var errDecoupled = status.New(status.Unsupported, "ModelInfer RPC doesn't support models with decoupled transaction policy")

// statusError converts an error of this server to a gRPC status.
func statusError(err error) error {
	if r, ok := errors.AsType[*access.Refusal](err); ok {
		return refused(r)
	}
	e := status.From(err)
	if memory.Exhausted(e) {
		return retryLater(codes.ResourceExhausted, e.Msg, e.RetryAfter)
	}
	return retryLater(e.Code.GRPC(), e.Msg, e.RetryAfter)
}
