package httpapi

import (
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A connection that the server ends is closed in two steps: no more is sent, and
// what the client still sends is dropped until it has seen that, as closing a
// connection with unread bytes resets it, and a reset may overtake the reply.
// The client may take lingerTime for that and be silent for lingerSilence. While a
// body of known length is on its way it may take longer.
const (
	lingerTime    = 5 * time.Second
	lingerSilence = time.Second
)

var lingerBuffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// unread is what is left of the body of a refused request: a client may send all
// of it before it looks for the reply. It has as long as it sends fast enough.
type unread struct {
	left  int64 // 0: not known
	least int64 // of these, in each lingerTime
}

// lingerOn sends the end of the data and drops what comes until the other side
// ends too, is silent for too long, or goes on for too long. Once hurry is true
// what is left of a body does not count.
func lingerOn(nc net.Conn, body unread, hurry func() bool) {
	_ = nc.SetWriteDeadline(time.Now().Add(lingerTime))
	in, ok := closeWrite(nc)
	if !ok {
		return
	}
	if in != nc { // what is read is encrypted, which takes some more
		body.left += body.left / 8
	}
	for body.left > 0 && !hurry() {
		n, open := drop(in, lingerTime, body.left)
		if !open || n < min(body.least, body.left) {
			return
		}
		body.left -= n
	}
	_, _ = drop(in, lingerSilence, math.MaxInt64)
}

// drop reads for lingerTime, until most bytes have come or none for silence. It
// returns how many came, and false when the other side has ended.
func drop(in net.Conn, silence time.Duration, most int64) (n int64, open bool) {
	b := lingerBuffers.Get().(*[16 << 10]byte)
	defer lingerBuffers.Put(b)
	for until := time.Now().Add(lingerTime); n < most; {
		at := time.Now().Add(silence)
		if at.After(until) {
			at = until
		}
		_ = in.SetReadDeadline(at)
		k, err := in.Read(b[:])
		n += int64(k)
		if err != nil {
			return n, errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
	return n, true
}

// closeWrite sends the end of the data. What comes then is read from in: of an
// encrypted connection, its ciphertext. False when the connection cannot be
// half-closed or is broken.
func closeWrite(nc net.Conn) (in net.Conn, ok bool) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok {
		return nil, false
	}
	err := half.CloseWrite()
	if inner := below(nc); inner != nil { // TLS: that was no more than its alert
		if half, ok := inner.(interface{ CloseWrite() error }); ok {
			return inner, half.CloseWrite() == nil
		}
		return inner, err == nil
	}
	return nc, err == nil
}

// below is the connection that carries an encrypted one, or nil.
func below(nc net.Conn) net.Conn {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return nil
}

// arrived reports whether bytes have come that nobody has read. It does not wait,
// and a deadline in the past does not keep it from looking.
func arrived(nc net.Conn) bool {
	if inner := below(nc); inner != nil {
		nc = inner
	}
	sc, ok := nc.(syscall.Conn)
	if !ok || !canPeek {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	found := false
	err = raw.Control(func(fd uintptr) {
		ready, gone := peek(fd)
		found = ready && !gone
	})
	return err == nil && found
}
