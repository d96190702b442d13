package access

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"triton/server/access/policy"
)

// UnixPrefix begins the address of a unix socket.
const UnixPrefix = "unix:"

// UnixPath returns the path of an address such as unix:/run/triton.sock.
func UnixPath(address string) (path string, ok bool) {
	path, ok = strings.CutPrefix(address, UnixPrefix)
	if rest, slashes := strings.CutPrefix(path, "//"); slashes {
		path = rest // unix:///run/triton.sock
	}
	return path, ok && path != ""
}

// socketMode lets the owner and the group of the server connect.
const socketMode = 0o660

// dialTimeout is how long the check for another server takes at most.
const dialTimeout = time.Second

// ListenUnix opens a unix socket whose connections know the user of the process at the other
// end. It replaces a socket that a server left behind, and nothing else.
func ListenUnix(path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s exists and is no socket", path)
	default:
		if c, err := net.DialTimeout("unix", path, dialTimeout); err == nil {
			_ = c.Close()
			return nil, fmt.Errorf("another server listens at %s", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return WithPeers(l), nil
}

// WithPeers returns the listener of a unix socket as one whose connections know the user of the
// process at the other end, and others as they are.
func WithPeers(l net.Listener) net.Listener {
	if u, ok := l.(*net.UnixListener); ok {
		return &unixListener{u}
	}
	return l
}

// unixListener asks the system for the peer of each connection.
type unixListener struct{ *net.UnixListener }

func (l *unixListener) Accept() (net.Conn, error) {
	c, err := l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	peer, err := peerOf(c)
	if err != nil {
		peer = nil // the caller is anonymous
	}
	return &unixConn{c, peer}, nil
}

// unixConn is a connection with its peer; nil if the system does not tell.
type unixConn struct {
	*net.UnixConn
	peer *policy.Principal
}
