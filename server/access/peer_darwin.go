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
	var cred *unix.Xucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	if cred.Ngroups < 1 {
		return nil, errors.New("the peer has no group") // the zero of an empty list would be the group of root
	}
	return ofProcess(cred.Uid, cred.Groups[0]), nil
}
