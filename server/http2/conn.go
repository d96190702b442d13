package http2

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"

	"triton/pkg/h2frame"
	"triton/pkg/log"
	"triton/pkg/nonblock"
	"triton/server/connlimit"
)

const (
	// openTime is how long a connection may take for its handshake and the first frame.
	openTime = 2 * time.Minute
	// frameTime is how long a frame without data, or a header list, may take from its first byte to its last.
	frameTime = 10 * time.Second
	// maxControl bounds the answers to frames that a client does not read.
	maxControl = 1 << 20
)

// conn is a connection. One goroutine reads it; those of the calls write it, one at a time.
type conn struct {
	server *Server
	opts   *Options
	raw    net.Conn // as it was accepted
	use    *connlimit.Conn
	socket net.Conn       // after the handshake
	tcp    *net.TCPConn   // below raw; nil: there is none
	direct *net.TCPConn   // tcp, if the socket encrypts nothing
	quick  *nonblock.Conn // writes to direct; nil: writes may wait
	peer   peer.Peer
	in     input
	wg     sync.WaitGroup // goroutines that write

	// mu is not held while something waits.
	mu      sync.Mutex
	err     error // why the connection has ended
	streams map[uint32]*stream
	lastID  uint32 // of the calls that have begun
	running int    // handlers
	lingers bool   // half-closed
	closed  recent // calls that have ended after their client's last frame
	cut     recent // calls that have ended before it: frames of them are on their way
	dropped recent // calls that their client has canceled
	ready   []*stream
	turn    turn
	ended   sync.Once
	free    []*stream // calls that have ended, for reuse

	// What the client allows.
	maxFrame int
	maxList  int64 // of a response; -1: any
	initial  int64 // window of a new call
	window   int64 // bytes that may be sent

	receives int64 // bytes that the client may send
	unacked  int64 // bytes received that no update of the window has returned

	fields  fieldTable
	encoded []byte // for the next header list
	out     []byte // frames to write
	spare   []byte
	rest    []byte    // of the buffer before out, which the socket did not take
	writing bool      // a goroutine writes
	senders []*stream // wait for a window, or for the writer
	large   largeWrite

	life life
}

func newConn(s *Server, raw net.Conn) *conn {
	c := &conn{
		server: s, opts: &s.opts, raw: raw, streams: map[uint32]*stream{},
		maxFrame: h2frame.SmallestMax, maxList: -1, initial: h2frame.InitialWindow, window: h2frame.InitialWindow,
		receives: int64(s.opts.ConnWindow),
	}
	if counted, ok := raw.(interface{ Use() *connlimit.Conn }); ok {
		c.use = counted.Use()
	}
	return c
}

// serve opens the connection and handles its frames. It may return before the connection ends: see turn.
func (c *conn) serve() {
	ends := true
	defer func() { c.endIf(ends, recover()) }()
	_ = c.raw.SetDeadline(time.Now().Add(openTime))
	if err := c.open(); err != nil {
		c.close(err)
		return
	}
	_ = c.raw.SetDeadline(time.Time{})
	c.startLife()
	if c.server.isDraining() {
		c.drain("graceful_stop")
	}
	ends = c.read()
}

// readOn handles frames in place of a goroutine that is busy otherwise.
func (c *conn) readOn() {
	ends := true
	defer func() { c.endIf(ends, recover()) }()
	ends = c.read()
}

// endIf ends the connection when nobody reads it any more.
func (c *conn) endIf(ends bool, panicked any) {
	if panicked != nil {
		log.Panicked(c.opts.Log, "panic while serving gRPC", panicked)
		c.close(errPanicked)
	}
	if !ends {
		return
	}
	c.ended.Do(func() {
		c.linger()
		_ = c.raw.Close()
		c.wg.Wait()
		c.server.forget(c)
	})
}

var (
	errPanicked = errors.New("the server has a defect, see its log")
	errPreface  = errors.New("the client does not speak HTTP/2")
)

// open makes the handshake and reads the preface and the first frame.
func (c *conn) open() error {
	socket, info, err := c.opts.Credentials.ServerHandshake(c.raw)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.socket = socket
	c.peer = peer.Peer{Addr: c.raw.RemoteAddr(), LocalAddr: c.raw.LocalAddr(), AuthInfo: info}
	c.tcp = tcpOf(c.raw)
	switch {
	case c.tcp == nil:
	case socket == c.raw:
		c.direct, c.quick = c.tcp, nonblock.New(c.tcp)
	default:
		c.socket = &patientConn{Conn: socket}
	}
	c.mu.Unlock()
	if k := &c.opts.Keepalive; c.tcp != nil && k.Time < forever {
		if err := setUserTimeout(c.tcp, k.Timeout); err != nil {
			return err
		}
	}
	c.in.decoder = hpack.NewDecoder(h2frame.InitialTable, c.in.field)
	c.in.decoder.SetMaxStringLength(int(min(c.opts.MaxHeaderList, 1<<30)))
	if _, err := c.socket.Write(c.greeting()); err != nil {
		return err
	}
	var preface [len(http2.ClientPreface)]byte
	for n := 0; n < len(preface); { // not more, so that what is no preface is seen at once
		k, err := c.socket.Read(preface[n:])
		if string(preface[n:n+k]) != http2.ClientPreface[n:n+k] {
			return errPreface
		}
		if n += k; err != nil && n < len(preface) {
			return err
		}
	}
	for {
		if h, ok := c.in.head(); ok {
			switch {
			case h.Kind != http2.FrameSettings || h.Len > maxSmall:
				return violation(http2.ErrCodeProtocol, "the first frame is %v of %d bytes, not SETTINGS", h.Kind, h.Len)
			case c.in.w-c.in.r >= h2frame.HeadLen+h.Len:
				return nil
			}
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

// tcpOf returns the TCP connection below a connection that only counts; nil: there is none.
func tcpOf(c net.Conn) *net.TCPConn {
	for {
		switch inner := c.(type) {
		case *net.TCPConn:
			return inner
		case interface{ NetConn() net.Conn }:
			c = inner.NetConn()
		default:
			return nil
		}
	}
}

// greeting returns the first frames of the server.
func (c *conn) greeting() []byte {
	o := c.opts
	settings := []http2.Setting{{ID: http2.SettingMaxFrameSize, Val: uint32(o.MaxFrame)}, {ID: http2.SettingMaxHeaderListSize, Val: o.MaxHeaderList}}
	if o.MaxStreams != ^uint32(0) {
		settings = append(settings, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: o.MaxStreams})
	}
	if o.StreamWindow != h2frame.InitialWindow {
		settings = append(settings, http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(o.StreamWindow)})
	}
	b := h2frame.AppendHead(nil, len(settings)*h2frame.SettingLen, http2.FrameSettings, 0, 0)
	for _, s := range settings {
		b = h2frame.AppendSetting(b, s.ID, s.Val)
	}
	if more := o.ConnWindow - h2frame.InitialWindow; more > 0 {
		b = h2frame.AppendWindowUpdate(b, 0, int(more))
	}
	return b
}

// close ends the connection and its calls.
func (c *conn) close(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(err)
}

// fail is close for a caller who holds mu.
func (c *conn) fail(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	c.farewell(err)
	c.life.stop()
	for _, s := range c.streams {
		c.remove(s)
		s.cancel(errCanceled)
	}
	c.wakeSenders()
	c.endSocket(err)
	if !errors.Is(err, io.EOF) && !errors.Is(err, errDrained) && !errors.Is(err, errStopped) {
		log.Lazy(c.opts.Log, 1, func() string {
			return "closing the gRPC connection of " + c.raw.RemoteAddr().String() + ": " + err.Error()
		})
	}
}

// farewell tells the client what it did wrong, if it listens.
func (c *conn) farewell(err error) {
	var f *fault
	if !errors.As(err, &f) || c.writing || c.socket == nil {
		return
	}
	last := c.lastID
	if c.life.last { // a larger number than the client was told is not allowed
		last = c.life.lastID
	}
	b := h2frame.AppendGoAway(c.out, last, f.code, f.text)
	c.out = nil
	if c.quick != nil {
		_, _ = c.quick.TryWrite(b)
		return
	}
	_ = c.socket.SetWriteDeadline(time.Now().Add(farewellTime))
	_, _ = c.socket.Write(b)
}

// farewellTime is how long the last frame of a connection may take that cannot be written without waiting.
const farewellTime = 100 * time.Millisecond

// readyConn is a connection that takes a buffer only when there is something to read.
type readyConn interface {
	ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error)
}
