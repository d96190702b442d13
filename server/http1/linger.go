package http1

import (
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A connection that the server ends is closed in two steps: it is half-closed, and the
// client's further bytes are dropped until the client closes too. Closing a connection with
// unread bytes resets it, and the reset may overtake the reply. The client may take
// lingerTime and be silent for lingerSilence, longer while a body of known length arrives.
const (
	lingerTime    = 5 * time.Second
	lingerSilence = time.Second
)

var lingerBuffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// unread is the rest of the body of a refused request. A client may send all of it before
// it reads the reply, as long as it sends fast enough.
type unread struct {
	left     int64 // 0: unknown
	minBytes int64 // bytes that must arrive in each lingerTime
}

// lingerClose half-closes the connection and drops what arrives until the client closes it, is
// silent for too long, or continues for too long. Once draining returns true the rest of a body
// is not awaited.
func lingerClose(nc net.Conn, body unread, draining func() bool) {
	_ = nc.SetWriteDeadline(time.Now().Add(lingerTime))
	in, ok := closeWrite(nc)
	if !ok {
		return
	}
	if in != nc { // the ciphertext is longer
		body.left += body.left / 8
	}
	for body.left > 0 && !draining() {
		n, open := drop(in, lingerTime, body.left)
		if !open || n < min(body.minBytes, body.left) {
			return
		}
		body.left -= n
	}
	_, _ = drop(in, lingerSilence, math.MaxInt64)
}

// drop reads for lingerTime, until limit bytes arrived, or none for silence. It returns how many
// arrived and whether the other side is still open.
func drop(in net.Conn, silence time.Duration, limit int64) (n int64, open bool) {
	b := lingerBuffers.Get().(*[16 << 10]byte)
	defer lingerBuffers.Put(b)
	for until := time.Now().Add(lingerTime); n < limit; {
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

// closeWrite half-closes the connection. What arrives then is read from in: the ciphertext of
// an encrypted connection. ok is false when the connection cannot be half-closed or is broken.
func closeWrite(nc net.Conn) (in net.Conn, ok bool) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok {
		return nil, false
	}
	err := half.CloseWrite()
	if inner := underlying(nc); inner != nil { // TLS: that only sent its alert
		if half, ok := inner.(interface{ CloseWrite() error }); ok {
			return inner, half.CloseWrite() == nil
		}
		return inner, err == nil
	}
	return nc, err == nil
}

// underlying returns the connection that carries an encrypted one, or nil.
func underlying(nc net.Conn) net.Conn {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return nil
}

// arrived reports whether unread bytes have arrived. It does not wait, and it ignores
// deadlines.
func arrived(nc net.Conn) bool {
	if inner := underlying(nc); inner != nil {
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
		ready, closed := peek(fd)
		found = ready && !closed
	})
	return err == nil && found
}
