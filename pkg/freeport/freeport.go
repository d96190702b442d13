// Package freeport reserves loopback ports for servers that other processes start: a server that
// is told its port cannot ask for port 0.
//
// A port that was free a moment ago may be taken when the server starts, by another server or by
// any outgoing connection. On Linux, a reserved port is kept: see hold.
package freeport

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// Reservation has ports of the address 127.0.0.1 that differ from each other.
type Reservation struct {
	ports   []int
	holders []io.Closer
}

// Reserve reserves n ports. Until Release, only a process that names such a port gets it, and may
// listen there again and again. It must set SO_REUSEADDR, as almost all servers do. On other
// systems than Linux, the ports are only known to be free now.
func Reserve(n int) (*Reservation, error) {
	r := &Reservation{}
	for range n {
		port, holder, err := hold()
		if errors.Is(err, errors.ErrUnsupported) {
			l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
			if err != nil {
				r.Release()
				return nil, fmt.Errorf("find a free port: %w", err)
			}
			defer l.Close() // after the last one, so that the ports differ
			r.ports = append(r.ports, l.Addr().(*net.TCPAddr).Port)
			continue
		}
		if err != nil {
			r.Release()
			return nil, fmt.Errorf("reserve a port: %w", err)
		}
		r.ports, r.holders = append(r.ports, port), append(r.holders, holder)
	}
	return r, nil
}

// Ports returns the ports.
func (r *Reservation) Ports() []int { return r.ports }

// Release lets other processes use the ports. It does not touch servers that listen there. It
// may be called again.
func (r *Reservation) Release() {
	for _, h := range r.holders {
		_ = h.Close() // no data is lost
	}
	r.holders = nil
}
