package httpapi

import (
	"net"
	"sync"
	"syscall"
	"time"
)

// A connection that the server ends is closed in two steps: no more is sent, and
// what the client still sends is dropped until it has seen that, as closing a
// connection with unread bytes resets it, and a reset may overtake the reply.
// The client may take lingerTime for that and be silent for lingerSilence.
const (
	lingerTime    = 5 * time.Second
	lingerSilence = time.Second
)

var lingerBuffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// lingerOn sends the end of the data and drops what comes until the other side
// ends too, is silent for too long, or goes on for too long.
func lingerOn(nc net.Conn) {
	until := time.Now().Add(lingerTime)
	_ = nc.SetWriteDeadline(until)
	in, ok := closeWrite(nc)
	if !ok {
		return
	}
	b := lingerBuffers.Get().(*[16 << 10]byte)
	defer lingerBuffers.Put(b)
	for {
		at := time.Now().Add(lingerSilence)
		if at.After(until) {
			at = until
		}
		_ = in.SetReadDeadline(at)
		if n, err := in.Read(b[:]); n == 0 || err != nil {
			return
		}
	}
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

// unread says whether bytes have come that nobody has read. It does not wait,
// and a deadline in the past does not keep it from looking.
func unread(nc net.Conn) bool {
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
