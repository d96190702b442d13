package grpcapi

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/mem"

	"triton/pkg/log"
	"triton/server/connlimit"
)

// headTime is how long the headers of a call may take, from the first frame to the end of the last.
const headTime = 10 * time.Second

// minContinuations is how many CONTINUATION frames headers may take, and one for each KiB of a longer
// Options.MaxHeaderList. Clients fill frames of 16 KiB.
const minContinuations = 64

// Of HTTP/2, RFC 9113 sections 3.4, 4.1, 6.2 and 6.10.
const (
	prefaceSize       = 24
	frameHeaderSize   = 9
	headersFrame      = 1
	continuationFrame = 9
	endHeaders        = 4 // flag
)

var errContinuations = errors.New("too many CONTINUATION frames")

// headWatch follows the frames that a client sends and ends a connection whose headers do not end. grpc-go
// waits for the last frame of headers without a limit of time or of frames, and neither its keep-alive nor
// its rules for pings see the frames before it.
//
// One goroutine calls pass. Headers are nearly always complete, so the hot path adds up lengths.
type headWatch struct {
	rest   int // bytes of the preface or of a frame that are still to come
	header [frameHeaderSize]byte
	have   int // bytes in header

	open          bool // headers have begun
	last          bool // their last frame has begun
	continuations int
	max           int

	raw   net.Conn // is closed when headers are late
	use   *connlimit.Conn
	log   *slog.Logger
	timer struct {
		sync.Mutex
		*time.Timer
		runs, closed bool
	}
}

// pass follows bytes that were read. The error ends the connection.
func (w *headWatch) pass(b []byte) error {
	for w.rest <= len(b) {
		b, w.rest = b[w.rest:], 0
		if w.last {
			w.open, w.last = false, false
			w.stop()
		}
		n := copy(w.header[w.have:], b)
		b = b[n:]
		if w.have += n; w.have < frameHeaderSize {
			w.start()
			return nil
		}
		w.have = 0
		if err := w.frame(); err != nil {
			return err
		}
	}
	w.rest -= len(b)
	w.start()
	return nil
}

// frame looks at the header of a frame.
func (w *headWatch) frame() error {
	h := &w.header
	w.rest = int(h[0])<<16 | int(h[1])<<8 | int(h[2])
	switch h[3] {
	case headersFrame:
		w.open, w.continuations = true, 0
	case continuationFrame:
		if w.continuations++; w.continuations > w.max {
			log.Lazy(w.log, 1, func() string {
				return "closing the gRPC connection of " + w.raw.RemoteAddr().String() + ": " + errContinuations.Error()
			})
			w.use.Late()
			return errContinuations
		}
	default:
		return nil
	}
	w.last = h[4]&endHeaders != 0
	return nil
}

// start starts the time of headers that have begun and are not complete.
func (w *headWatch) start() {
	if !w.open || w.timer.runs {
		return
	}
	t := &w.timer
	t.Lock()
	defer t.Unlock()
	switch {
	case t.closed:
		return
	case t.Timer == nil:
		t.Timer = time.AfterFunc(headTime, w.late)
	default:
		t.Reset(headTime)
	}
	t.runs = true
}

func (w *headWatch) stop() {
	if w.timer.runs {
		w.timer.Lock()
		defer w.timer.Unlock()
		w.timer.runs = false
		w.timer.Stop()
	}
}

func (w *headWatch) late() {
	log.Lazy(w.log, 1, func() string {
		return "closing the gRPC connection of " + w.raw.RemoteAddr().String() + ": headers have not ended after " + headTime.String()
	})
	w.use.Late()
	_ = w.raw.Close()
}

// close stops the timer for good.
func (w *headWatch) close() {
	w.timer.Lock()
	defer w.timer.Unlock()
	if w.timer.closed = true; w.timer.Timer != nil {
		w.timer.Stop()
	}
}

// watchedConn is a connection that grpc-go reads, with TLS the decrypted one.
type watchedConn struct {
	net.Conn
	heads headWatch
}

// readyConn is the method with which grpc-go reads connections that hold no buffer while they are idle. It
// looks for it by a type assertion.
type readyConn interface {
	ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error)
}

// watchedReadyConn is a watchedConn that has the method.
type watchedReadyConn struct {
	*watchedConn
	ready readyConn
}

// watchHeads returns conn with limits for headers. raw is the connection below it.
func watchHeads(conn, raw net.Conn, use *connlimit.Conn, o *Options) net.Conn {
	c := &watchedConn{Conn: conn, heads: headWatch{
		rest: prefaceSize, max: max(minContinuations, int(o.MaxHeaderList/1024)), raw: raw, use: use, log: o.Log,
	}}
	if ready, ok := conn.(readyConn); ok {
		return &watchedReadyConn{c, ready}
	}
	return c
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if late := c.heads.pass(b[:n]); late != nil {
		return 0, late
	}
	return n, err
}

// ReadOnReady is called by grpc-go.
func (c *watchedReadyConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	b, n, err := c.ready.ReadOnReady(size, pool)
	if n > 0 {
		if late := c.heads.pass((*b)[:n]); late != nil {
			pool.Put(b)
			return nil, 0, late
		}
	}
	return b, n, err
}

func (c *watchedConn) Close() error {
	c.heads.close()
	return c.Conn.Close()
}
