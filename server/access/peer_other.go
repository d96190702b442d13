//go:build !linux && !darwin

package access

import (
	"errors"
	"net"

	"triton/server/access/policy"
)

// peerOf returns an error: this system is not asked for the peer.
func peerOf(*net.UnixConn) (*policy.Principal, error) { return nil, errors.ErrUnsupported }
