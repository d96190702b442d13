//go:build !unix

package server

import (
	"net"

	"google.golang.org/grpc/mem"
)

// ready is for systems where one can wait for data alone.
type ready struct{}

func newReady(net.Conn) *ready { return nil }

func (*ready) read(int, mem.BufferPool) (*[]byte, int, error) { panic("there is none") }
