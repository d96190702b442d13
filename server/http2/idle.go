package http2

import (
	"io"
	"maps"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc/mem"
)

// idleTime is how long a connection without calls keeps what the next calls would reuse. A server may have many
// connections, and most of them are idle.
const idleTime = 10 * time.Second

// trimIdle lets idle connections release memory, until the server has ended.
func (s *Server) trimIdle() {
	tick := time.NewTicker(idleTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ended:
			return
		}
		before := clock() - int64(idleTime)
		for _, c := range s.connections() {
			c.trim(before)
		}
	}
}

// connections returns those that are open.
func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

// trim releases what the connection does not need until its next call, if it has read nothing since a time.
func (c *conn) trim(before int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || len(c.streams) > 0 || c.writing || c.turn.running || c.life.lastRead.Load() > before {
		return
	}
	c.free, c.spare, c.encoded, c.large = nil, nil, nil, largeWrite{}
	if len(c.out) == 0 {
		c.out = nil
	}
	if l := &c.in.list; !l.open { // frames uses it with mu, too
		l.block = nil
	}
	c.in.heads = headCache{}
}

// patientConn waits for the first byte before it takes a buffer, so that an idle connection has none. It is for TLS,
// where a socket that has something to read may have nothing for the reader, and the other way round.
type patientConn struct {
	net.Conn
	first [1]byte
}

// ReadOnReady implements readyConn. It returns the first byte; the others follow with Read.
func (p *patientConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	n, err := p.Read(p.first[:])
	switch {
	case n == 0 && err == nil:
		return nil, 0, io.ErrNoProgress
	case n == 0:
		return nil, 0, err
	}
	b := pool.Get(size)
	(*b)[0] = p.first[0]
	return b, n, nil
}

// CloseWrite tells the client that nothing follows.
func (p *patientConn) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
