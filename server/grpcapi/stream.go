package grpcapi

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/server/access"
	"triton/server/infer"
)

// maxCalls limits the open requests of one stream, however small they are. At the limit
// no further request is read.
const maxCalls = 1 << 16

// stream is one ModelStreamInfer. Only the goroutine of the handler writes; another one
// reads. Models answer from any goroutine: they append responses to ready and never
// block.
type stream struct {
	service *service
	conn    grpc.ServerStream
	// strict ends the stream at the first error of a model.
	strict bool

	wake        chan struct{} // wakes the writer; capacity 1
	mayContinue *sync.Cond    // wakes the reader; used with mu

	mu        sync.Mutex
	ready     []outgoing // to be written, in this order
	first     *call      // first open call of models that are not decoupled, in request order
	last      *call
	inFlight  calls                 // all calls that are not done
	heldBytes int                   // inputs of calls in flight, and responses not written yet
	unread    infer.ResponseBacklog // the part of heldBytes that the client has not read
	ended     bool                  // no more requests are read
	readErr   error                 // the reason, unless the client half-closed
	closed    bool                  // no more responses are written
	aborted   error                 // the reason why the stream ends early and takes no more responses
	record    callRecord

	// Used by the reader only. The charge of a request moves to its call.
	in incoming

	// Used by the writer only.
	writing []outgoing
	message rpc.StreamResponse
	scratch kserve.Response
}

// modelStreamInfer is the handler of ModelStreamInfer.
func modelStreamInfer(srv any, conn grpc.ServerStream) (err error) {
	svc := srv.(*service)
	svc.opts.Compression.compress(conn.Context())
	s := &stream{service: svc, conn: conn, inFlight: calls{use: connBudgetOf(conn.Context()).use}, strict: strict(conn), wake: make(chan struct{}, 1), unread: infer.ResponseBacklog{Limit: svc.opts.MaxUnread}}
	s.mayContinue = sync.NewCond(&s.mu)
	s.in.ctx = conn.Context()
	if svc.opts.checksCallers() {
		s.in.permission = svc.opts.begin(conn.Context(), rpc.ModelStreamInfer)
		defer s.in.permission.leave()
		if s.in.permission.refusal != nil {
			return refused(s.in.permission.refusal)
		}
	}
	s.unread.Stream = svc.opts.Memory.NewStream(s.in.permission.account(), func() { s.abort(s.unread.ErrShort()) })
	defer s.unread.Stream.End()
	if s.in.permission != nil {
		defer s.in.permission.Follow(s.in.permission.call, s)()
	}
	if err := s.in.reader.begin(conn.Context(), svc.opts.MaxReceive, s.in.permission); err != nil {
		return err
	}
	if svc.opts.AccessLog != nil {
		defer logStream(s, svc.opts.AccessLog, infer.Now(), &err)
	}
	defer s.close()
	go s.read()
	err = s.write()
	if err != nil {
		svc.logCancelled(conn.Context(), "ModelStreamInferHandler")
	}
	return err
}

// strict reports whether the client requests that an error of a model ends the stream.
func strict(conn grpc.ServerStream) bool {
	v := metadata.ValueFromIncomingContext(conn.Context(), "triton_grpc_error")
	return len(v) > 0 && v[0] == "true"
}

// read reads requests and submits them one after the other, so that models see them in
// the order of their arrival.
func (s *stream) read() {
	var err error
	defer func() { s.end(err) }()
	defer s.service.panics.recover(rpc.ModelStreamInfer, &err)
	defer s.in.reader.end()
	for err == nil {
		if err = s.waitToRead(); err == nil {
			err = s.next()
		}
	}
}

func (s *stream) next() error {
	clock := s.service.startClock()
	r, invalid, err := s.service.receive(&s.in)
	if err != nil {
		return err
	}
	clock.read(s.service)
	testDelay(s.service.opts.Delays.ProcessEntry)
	s.submit(r, invalid, clock)
	return nil
}

// waitToRead waits until the stream holds less than its limit. Meanwhile gRPC buffers what
// the client sends, up to the window of the stream, so the window is charged. The error
// is io.EOF if the stream is closed, or else the budget's.
func (s *stream) waitToRead() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasRoom() {
		return s.closedError()
	}
	window := newCharge(s.in.reader.charge.conn)
	window.memory.For(s.in.permission.account())
	if err := window.Take(int(s.service.opts.StreamWindow)); err != nil {
		return err
	}
	defer window.end()
	for !s.hasRoom() {
		s.mayContinue.Wait()
	}
	return s.closedError()
}

func (s *stream) hasRoom() bool {
	return s.ends() || s.heldBytes <= s.service.opts.ReadAhead && s.inFlight.n < maxCalls
}

func (s *stream) closedError() error {
	if s.ends() {
		return io.EOF
	}
	return nil
}

// ends reports whether the stream takes no more requests and responses. The caller holds s.mu.
func (s *stream) ends() bool { return s.closed || s.aborted != nil }

// end records that no more requests will be read.
func (s *stream) end(err error) {
	s.mu.Lock()
	s.ended = true
	if !errors.Is(err, io.EOF) {
		s.readErr = err
	}
	s.mu.Unlock()
	s.signal()
}

// submit submits a request to its model. The reply to an invalid request has only the
// request's ID.
func (s *stream) submit(r *infer.Request, invalid error, clock clock) {
	c := newCall(s, r)
	c.charge = s.in.reader.charge.move()
	added, handedOver := false, false
	defer func() {
		switch {
		case handedOver:
		case added: // a panic
			r.Release()
			c.refuse(errPanic)
		default: // the stream has ended, or a panic
			r.Release() // the core's reference
			c.free()
		}
	}()
	err := s.find(c, invalid)
	if added = s.add(c); !added {
		return
	}
	if err == nil {
		err = s.in.permission.renew(s.conn.Context(), c)
	}
	if err == nil {
		c.trace = s.service.sample(s.conn.Context(), r, clock)
	}
	handedOver = true // from now on a response ends the call
	if err != nil {
		r.Release()
		c.refuse(err)
		return
	}
	r.Sink = c
	if err := s.service.panics.submit(c.model, r); err != nil {
		c.refuse(err)
	}
}

// find sets the model of a call, unless the request has a mistake.
func (s *stream) find(c *call, invalid error) error {
	entry, refusal := s.in.permission.admitRequest(s.conn.Context(), c.request, s.in.reader.length())
	if refusal != nil {
		return refusal
	}
	c.lease = entry.Lease()
	defer entry.End("", c.id)
	m, err := s.service.streamModel(s.conn.Context(), c.request)
	if err != nil {
		return err
	}
	c.model = m
	c.decoupled = m.Config().Decoupled()
	if invalid != nil {
		return invalid
	}
	if err := s.service.forward(s.conn.Context(), c.request); err != nil {
		return err
	}
	c.lease.Charge(infer.RowsOf(m, c.request), 0)
	c.model = infer.ChooseBy(m, c.request, &s.in)
	return nil
}

var errStopping = status.New(status.Unavailable,
	"GRPC server is shutting down and has stopped accepting new requests.")

// streamModel finds the model of a request. A stream may never end by itself, so its
// requests are refused while the server drains. Other calls are answered until their
// connection has ended.
func (s *service) streamModel(ctx context.Context, r *infer.Request) (infer.Model, error) {
	if s.svc.Exiting() {
		return nil, errStopping
	}
	return infer.AcquireWithin(ctx, s.svc, r.ModelName, r.ModelVersion, r.Timeout())
}

// add adds a call to the stream. It reports false if the stream has ended.
func (s *stream) add(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.request(c.name, c.id)
	if s.ends() {
		return false
	}
	s.inFlight.add(c)
	s.heldBytes += c.bytes
	if c.decoupled {
		return true
	}
	if s.last == nil {
		s.first = c
	} else {
		s.last.nextInOrder = c
	}
	s.last = c
	return true
}

// signal wakes the writer.
func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// abort frees the responses that wait, lets the writer end the stream with an error, and cancels
// running requests.
func (s *stream) abort(err error) {
	var running []*infer.Request
	s.mu.Lock()
	if !s.ends() {
		s.aborted = statusError(err)
		for i := range s.ready {
			s.ready[i].release()
		}
		s.unread.Clear()
		for c := s.inFlight.head; c != nil; c = c.next {
			if !c.done {
				c.request.Retain()
				running = append(running, c.request)
			}
		}
	}
	s.mu.Unlock()
	s.mayContinue.Broadcast()
	s.signal()
	for _, r := range running {
		r.Cancel()
		r.Release()
	}
}

// EachModel visits the models of the requests in flight, for the guard.
func (s *stream) EachModel(visit func(model, version string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := s.inFlight.head; c != nil; c = c.next {
		if !visit(c.name, c.version) {
			return
		}
	}
}

// Refuse ends the stream, because the guard no longer admits its caller.
func (s *stream) Refuse(r *access.Refusal) { s.abort(r) }

// close ends the stream: it drops responses that were not written and cancels running
// requests.
func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	drop := append(s.writing, s.ready...)
	s.writing, s.ready = nil, nil
	var running []*call
	for c := s.inFlight.head; c != nil; c = c.next {
		if !c.done {
			c.closing = true
			running = append(running, c)
		}
	}
	s.mu.Unlock()
	s.mayContinue.Broadcast()
	for i := range drop {
		drop[i].release()
	}
	if len(running) > 0 {
		testDelay(s.service.opts.Delays.Notification)
	}
	for _, c := range running {
		c.request.Cancel()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := s.inFlight.head; c != nil; {
		after := c.next
		c.closing = false
		if c.done {
			s.inFlight.remove(c)
			c.free()
		}
		c = after
	}
}
