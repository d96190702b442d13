//go:build !unix

package server

import (
	"net"

	"google.golang.org/grpc/mem"
)

// readyReader exists on systems where a goroutine can wait for data without reading it.
type readyReader struct{}

func newReadyReader(net.Conn) *readyReader { return nil }

func (*readyReader) read(int, mem.BufferPool) (*[]byte, int, error) {
	panic("unreachable: newReadyReader returns nil")
}
