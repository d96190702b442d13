package nonblock

import "syscall"

// Sockets of Windows have no calls that only try.
func blocks(syscall.RawConn) bool { return true }

func announcedRead(uintptr, []byte) (int, error)  { return 0, syscall.EWINDOWS }
func announcedWrite(uintptr, []byte) (int, error) { return 0, syscall.EWINDOWS }
