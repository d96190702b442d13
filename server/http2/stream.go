package http2

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"triton/pkg/h2frame"
	"triton/pkg/log"
)

// stream is a call.
type stream struct {
	conn *conn
	id   uint32
	head *head

	// The rest is used with conn.mu.
	over      bool  // nothing more is sent or received
	inline    bool  // the goroutine that reads runs the call
	remoteEnd bool  // the client has sent its last frame
	err       error // of the context
	reader    waiter
	sender    waiter
	done      chan struct{} // of the context; nil: nobody asked for it
	afterEnd  map[*func()]struct{}
	timer     *time.Timer
	deadline  time.Time

	// Received and not read.
	read     [1]mem.Buffer // the list that Read returned
	queue    []chunk
	queued   int   // bytes in it
	want     int   // bytes that the handler waits for
	receives int64 // bytes that the client may send
	consumed int64 // bytes read that no update of the window has returned
	extra    int64 // bytes beyond the window that a long message got

	// Sent.
	web        *webCall // it did not arrive as frames; nil: it did
	window     int64
	message    []byte // a prefix, and a short message behind it
	headerSent bool
	header     metadata.MD
	trailer    metadata.MD
	encoding   string // of messages
}

// chunk is a part of a message.
type chunk struct {
	buf  *[]byte
	r, w int // what is not read is buf[r:w]
}

// The errors of contexts that have ended.
var (
	errCanceled = context.Canceled
	errDeadline = context.DeadlineExceeded
)

// begin begins a call. The caller holds mu.
func (c *conn) begin(id uint32, h *head, end bool) {
	s := c.newStream()
	s.id, s.head, s.remoteEnd, s.over = id, h, end, false
	s.receives, s.window = int64(c.opts.StreamWindow), c.initial
	c.streams[id] = s
	c.running++
	c.server.handlers.Add(1)
	c.in.idle = 0
	c.life.busy()
	if h.timed {
		s.deadline = time.Now().Add(h.timeout)
		s.timer = time.AfterFunc(h.timeout, func() { s.expire(id) })
	}
	c.ready = append(c.ready, s)
}

// run calls the handler.
func (s *stream) run() {
	c := s.conn
	if s.head.plain {
		s.serveHTTP()
	} else {
		s.finish(s.handle())
	}
	c.mu.Lock()
	c.running--
	s.free()
	c.mu.Unlock()
	c.server.handlers.Done()
}

// maxFree bounds the calls that a connection keeps for reuse.
const maxFree = 64

// newStream returns a call for reuse, or a new one. The caller holds mu.
func (c *conn) newStream() *stream {
	n := len(c.free)
	if n == 0 {
		return &stream{conn: c, reader: newWaiter(), sender: newWaiter()}
	}
	s := c.free[n-1]
	c.free[n-1], c.free = nil, c.free[:n-1]
	return s
}

// free releases what was not read, and keeps the call for reuse if nothing refers to it any more. The caller holds mu.
// Its connection and head stay, so that a context that is used too late has a wrong answer and no panic.
func (s *stream) free() {
	c := s.conn
	for i := range s.queue {
		c.opts.Buffers.Put(s.queue[i].buf)
	}
	clear(s.queue)
	s.queue, s.queued = s.queue[:0], 0
	if s.timer != nil || s.done != nil || s.err != nil || c.in.data.to == s || len(c.free) == maxFree {
		return
	}
	if cap(s.message) > maxMessage {
		s.message = nil
	}
	*s = stream{conn: c, head: s.head, over: true, reader: s.reader, sender: s.sender, queue: s.queue, message: s.message}
	c.free = append(c.free, s)
}

// handle returns the status of the call.
func (s *stream) handle() (st *status.Status) {
	h := s.head
	if h.rpc == nil {
		return status.New(codes.Unimplemented, h.missing)
	}
	if e := h.encoding; e != "" && e != identity {
		if compressor(e) == nil {
			return status.Newf(codes.Unimplemented, "grpc: Decompressor is not installed for grpc-encoding %q", e)
		}
		s.encoding = e
	}
	defer func() {
		if p := recover(); p != nil {
			log.Panicked(s.conn.opts.Log, "panic while serving gRPC", p, "method", h.path)
			st = status.New(codes.Internal, errPanicked.Error())
		}
	}()
	m := h.rpc
	var err error
	if intercept := s.conn.opts.Stream; intercept != nil && !m.unary() {
		err = intercept(m.service.impl, (*serverStream)(s), m.info(), m.desc.Handler)
	} else {
		err = m.desc.Handler(m.service.impl, (*serverStream)(s))
	}
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		st = status.FromContextError(err)
	}
	return st
}

// cancel ends the context of the call, and what it waits for. The caller holds mu.
func (s *stream) cancel(err error) {
	if s.over {
		return
	}
	s.over, s.err = true, err
	s.endContext()
	s.wake()
}

func (s *stream) endContext() {
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.done != nil {
		close(s.done)
	}
	for f := range s.afterEnd {
		go (*f)()
	}
	s.afterEnd = nil
}

// expire ends a call whose time is over.
func (s *stream) expire(id uint32) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[id] != s || s.over {
		return
	}
	c.out = h2frame.AppendReset(c.out, id, http2.ErrCodeCancel)
	c.remove(s)
	s.cancel(errDeadline)
	c.flush(false)
}

// contextError returns the status of a call whose context has ended.
func contextError(err error) error {
	if errors.Is(err, errDeadline) {
		return status.Error(codes.DeadlineExceeded, err.Error())
	}
	return status.Error(codes.Canceled, errCanceled.Error())
}

// wake wakes what reads and what sends. The caller holds mu.
func (s *stream) wake() {
	s.reader.wake()
	s.sender.wake()
	if s.web != nil {
		s.web.interrupt()
	}
}

// waiter is a goroutine that may wait. Its methods are called with conn.mu.
type waiter struct {
	woken chan struct{}
	waits bool
}

func newWaiter() waiter { return waiter{woken: make(chan struct{}, 1)} }

func (w *waiter) wake() {
	if w.waits {
		w.waits = false
		w.woken <- struct{}{}
	}
}

// arm prepares for wait. From here on wake counts, so that the caller may release the lock before it waits.
func (w *waiter) arm() { w.waits = true }

// wait waits until wake. The caller has called arm, after it checked what it waits for.
func (w *waiter) wait(mu *sync.Mutex) {
	mu.Unlock()
	<-w.woken
	mu.Lock()
}

// Sizes of the memory of messages that arrive.
const (
	maxChunk = 1 << 20
	midChunk = 32 << 10  // pools have no size between this and maxChunk
	minChunk = 1<<10 + 1 // package mem has no pool for shorter ones
)

// receive takes bytes of a frame, of which more are to come. The caller holds mu.
func (s *stream) receive(b []byte, more int) {
	s.queued += len(b)
	for len(b) > 0 {
		if n := len(s.queue); n > 0 {
			last := &s.queue[n-1]
			k := copy((*last.buf)[last.w:cap(*last.buf)], b)
			last.w += k
			b = b[k:]
			if len(b) == 0 {
				break
			}
		}
		size := max(len(b)+more, s.want-s.queued+len(b), minChunk)
		if size > midChunk && size < maxChunk {
			size = midChunk
		}
		buf := s.conn.opts.Buffers.Get(min(size, maxChunk))
		*buf = (*buf)[:cap(*buf)]
		s.queue = append(s.queue, chunk{buf: buf})
	}
	if s.queued >= s.want {
		s.reader.wake()
	}
}

// await waits until n bytes are there. The error is io.EOF if the client has sent nothing more, and
// io.ErrUnexpectedEOF if it has sent less. The caller holds mu.
func (s *stream) await(n int) error {
	s.demand(n)
	for s.queued < n {
		switch {
		case s.over:
			return contextError(s.err)
		case s.remoteEnd && s.queued == 0:
			return io.EOF
		case s.remoteEnd:
			return io.ErrUnexpectedEOF
		}
		if s.web != nil {
			if err := s.web.pull(s); err != nil {
				return err
			}
			continue
		}
		if s.inline {
			s.conn.takeOver()
			continue
		}
		s.want = n
		s.reader.arm()
		s.conn.flush(true)
		s.reader.wait(&s.conn.mu)
	}
	s.want = 0
	return nil
}

// demand lets the client send a message of n bytes that is longer than the window.
func (s *stream) demand(n int) {
	missing := int64(n - s.queued)
	if s.remoteEnd || s.over || missing <= s.receives {
		return
	}
	more := missing - s.receives
	s.extra += max(more-s.consumed, 0)
	s.consumed = max(s.consumed-more, 0)
	s.receives += more
	s.conn.out = h2frame.AppendWindowUpdate(s.conn.out, s.id, int(more))
}

// consume counts bytes that were read: the client may send as many more. The caller holds mu.
func (s *stream) consume(n int) {
	k := min(s.extra, int64(n))
	s.extra -= k
	s.consumed += int64(n) - k
	if s.consumed < int64(s.conn.opts.StreamWindow)/4 || s.remoteEnd || s.over {
		return
	}
	s.conn.out = h2frame.AppendWindowUpdate(s.conn.out, s.id, int(s.consumed))
	s.receives += s.consumed
	s.consumed = 0
	s.conn.flush(false)
}

// ReadMessageHeader reads the bytes in front of a message.
func (s *stream) ReadMessageHeader(header []byte) error {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.await(len(header)); err != nil {
		return err
	}
	for n := 0; n < len(header); {
		first := &s.queue[0]
		k := copy(header[n:], (*first.buf)[first.r:first.w])
		first.r += k
		n += k
		if first.r == first.w {
			s.drop()
		}
	}
	s.queued -= len(header)
	s.consume(len(header))
	return nil
}

// drop removes the first chunk, whose memory is read, or somebody else's.
func (s *stream) drop() {
	if first := &s.queue[0]; first.buf != nil {
		s.conn.opts.Buffers.Put(first.buf)
	}
	n := copy(s.queue, s.queue[1:])
	s.queue[n] = chunk{}
	s.queue = s.queue[:n]
}

// Read reads n bytes of a message. The caller frees them, and uses the list until the next Read.
func (s *stream) Read(n int) (mem.BufferSlice, error) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.await(n); err != nil {
		return nil, err
	}
	out := s.read[:0]
	s.queued -= n
	s.consume(n)
	for n > 0 {
		first := &s.queue[0]
		k := min(n, first.w-first.r)
		n -= k
		if first.r+k < first.w { // the rest stays
			b := append([]byte(nil), (*first.buf)[first.r:first.r+k]...)
			first.r += k
			out = append(out, mem.SliceBuffer(b))
			break
		}
		buf := first.buf
		*buf = (*buf)[:first.w]
		whole := mem.NewBuffer(buf, c.opts.Buffers)
		if first.r > 0 {
			part := whole.Slice(first.r, first.w)
			whole.Free()
			whole = part
		}
		out = append(out, whole)
		first.buf = nil
		s.drop()
	}
	return out, nil
}
