//go:build !linux

package wire

import "net"

// Brief returns conn.
func Brief(conn net.Conn) net.Conn { return conn }

func vectored(conn net.Conn) net.Conn { return conn }
