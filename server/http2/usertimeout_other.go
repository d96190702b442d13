//go:build !linux

package http2

import (
	"net"
	"time"
)

// setUserTimeout does nothing: only Linux has such an option.
func setUserTimeout(*net.TCPConn, time.Duration) error { return nil }
