package flags

import (
	"net"
	"strings"
)

// WithPort adds a port to the address of a server that has no port and is no URL.
func WithPort(address, port string) string {
	host := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
	bare := !strings.ContainsAny(address, ":/") || net.ParseIP(host) != nil
	if !bare {
		return address
	}
	return net.JoinHostPort(host, port)
}
