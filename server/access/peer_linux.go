package access

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"

	"triton/server/access/policy"
)

// peerOf returns the user that opened a connection, as the kernel recorded it.
func peerOf(c *net.UnixConn) (*policy.Principal, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	return ofProcess(cred.Uid, cred.Gid), nil
}
