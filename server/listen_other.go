//go:build !unix

package server

import (
	"errors"
	"net"
	"syscall"
)

// listenConfig returns the configuration of sockets; this system has no SO_REUSEPORT.
func listenConfig(reuse bool) *net.ListenConfig {
	c := &net.ListenConfig{}
	if reuse {
		c.Control = func(string, string, syscall.RawConn) error {
			return errors.New("this system cannot share a port between servers")
		}
	}
	return c
}

func inUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

func stopListening(net.Listener) bool { return true }
