package h2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/h2frame"
	"triton/pkg/nonblock"
)

// Conn is a connection. A goroutine reads it; the goroutines of the calls write it, one at a time.
type Conn struct {
	socket net.Conn
	quick  *nonblock.Conn // nil: writes that may wait have a goroutine of their own
	now    func() int64
	wg     sync.WaitGroup
	in     input

	// mu is not held while something waits.
	mu       sync.Mutex
	err      error  // why the connection has ended
	draining bool   // no other call may start
	reason   string // of GOAWAY
	lastID   uint32 // of GOAWAY: calls behind it are not processed

	calls   map[uint32]*Call
	waiting []*Call // for fewer than maxStreams calls
	nextID  uint32

	// Settings of the peer.
	maxStreams uint32
	maxFrame   int
	maxList    uint64
	initial    int64 // window of a new call

	window   int64 // bytes that may be sent
	unacked  int   // bytes received that no update of the window has returned
	receives int64 // bytes that the peer may send

	indexed   *Head // whose fields the peer's table has
	noTable   bool  // the peer has less of a table than HTTP/2 begins with
	dropTable bool  // the next header list says that the table is empty
	block     []byte

	out      []byte // frames to write
	spare    []byte
	rest     []byte // of the buffer before out, which the socket did not take yet
	flushing bool   // a goroutine writes
	awaited  int    // calls that got a response in the last read, and whose lanes may send at once
}

// Open dials a connection and waits for the settings of the server. Its errors are statuses of gRPC. now reads
// the clock of Message.Time.
func Open(ctx context.Context, dial func(context.Context) (net.Conn, error), now func() int64) (*Conn, error) {
	socket, err := dial(ctx)
	if err != nil {
		return nil, connectionError(err.Error())
	}
	c := &Conn{
		socket: socket, quick: nonblock.New(socket), now: now,
		calls: map[uint32]*Call{}, nextID: 1, lastID: math.MaxInt32,
		maxStreams: math.MaxUint32, maxFrame: h2frame.SmallestMax, maxList: math.MaxUint64,
		initial: h2frame.InitialWindow, window: h2frame.InitialWindow, receives: connWindow,
	}
	c.in.src, c.in.buf = io.Reader(socket), make([]byte, readBuffer)
	if c.quick != nil {
		c.in.src = c.quick
	}
	c.in.fields.decoder = hpack.NewDecoder(h2frame.InitialTable, c.in.fields.add)
	stop := context.AfterFunc(ctx, func() { _ = socket.SetDeadline(time.Unix(1, 0)) })
	err = c.greet()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = socket.Close()
		return nil, connectionError(err.Error())
	}
	c.wg.Go(c.read)
	return c, nil
}

// greet sends the preface and reads the first frame of the server.
func (c *Conn) greet() error {
	b := append([]byte(nil), http2.ClientPreface...)
	b = h2frame.AppendHead(b, 3*h2frame.SettingLen, http2.FrameSettings, 0, 0)
	b = h2frame.AppendSetting(b, http2.SettingEnablePush, 0)
	b = h2frame.AppendSetting(b, http2.SettingInitialWindowSize, streamWindow)
	b = h2frame.AppendSetting(b, http2.SettingMaxHeaderListSize, maxHeaderList)
	b = h2frame.AppendWindowUpdate(b, 0, connWindow-h2frame.InitialWindow)
	if _, err := c.socket.Write(b); err != nil {
		return fmt.Errorf("transport: failed to write client preface: %w", err)
	}
	for {
		if h, ok := c.in.header(); ok {
			switch {
			case string(c.in.buf[c.in.r:c.in.r+5]) == "HTTP/":
				return errors.New("error reading server preface: http2: failed reading the frame payload: http2: frame too large, note that the frame header looked like an HTTP/1.1 header")
			case h.Kind != http2.FrameSettings || h.Flags&http2.FlagSettingsAck != 0 || h.Len > h2frame.SmallestMax:
				return fmt.Errorf("error reading server preface: the first frame is %v of %d bytes, not SETTINGS", h.Kind, h.Len)
			case c.in.w-c.in.r >= h2frame.HeadLen+h.Len:
				return c.frames()
			}
		}
		if err := c.in.fill(); err != nil {
			return fmt.Errorf("error reading server preface: %w", err)
		}
	}
}

// Usable reports whether calls may start.
func (c *Conn) Usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && !c.draining
}

// Ended reports whether the connection has ended.
func (c *Conn) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// Close ends all calls and returns when nothing runs on the connection any more.
func (c *Conn) Close() {
	c.mu.Lock()
	c.fail(ErrClosed)
	c.mu.Unlock()
	c.wg.Wait()
}

// fail ends the connection and its calls. The caller holds mu.
func (c *Conn) fail(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	for _, call := range c.calls {
		c.end(call, c.lost(err))
	}
	c.wakeWaiting()
	_ = c.socket.Close()
}

// lost returns the error of the calls of a connection that has ended.
func (c *Conn) lost(err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	err = connectionError(err.Error())
	if c.reason == "" {
		return err
	}
	desc := grpcstatus.Convert(err).Message()
	return grpcstatus.Errorf(codes.Unavailable, "closing transport due to: %s, received prior goaway: %s", desc, c.reason)
}

// violated tells the peer what it did wrong, if it listens, and ends the connection. The caller holds mu.
func (c *Conn) violated(err error) {
	var f *fault
	if errors.As(err, &f) && c.err == nil && !c.flushing {
		b := h2frame.AppendGoAway(c.out, 0, f.code, "")
		if c.quick != nil {
			_, _ = c.quick.TryWrite(b)
		}
	}
	c.fail(fmt.Errorf("the server violated HTTP/2: %w", err))
}

// end ends a call. The caller holds mu.
func (c *Conn) end(call *Call, err error) {
	delete(c.calls, call.id)
	call.err = err
	call.endedAt = c.now()
	call.ended.Store(true)
	call.wake()
	c.awaited++
	c.wakeWaiting()
	if c.draining && len(c.calls) == 0 {
		c.fail(errDrained)
	}
}

// errDrained ends a connection whose server sent GOAWAY, after its last call.
var errDrained = errors.New("the server closed the connection after its last call")

// abandon ends a call before the server has, and tells the server. The caller holds mu.
func (c *Conn) abandon(call *Call, code http2.ErrCode, err error) {
	c.out = h2frame.AppendReset(c.out, call.id, code)
	c.end(call, err)
}

func (c *Conn) wakeWaiting() {
	for _, w := range c.waiting {
		w.wake()
	}
	c.waiting = c.waiting[:0]
}

// wakeBlocked wakes the calls that have something left to send. The caller holds mu.
func (c *Conn) wakeBlocked() {
	for _, call := range c.calls {
		if call.left > 0 {
			call.wake()
		}
	}
}
