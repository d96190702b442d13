package bench

import "syscall"

// attributes puts a server into a process group of its own, so that an interrupt
// from the terminal reaches only this program, which stops the server in order. The
// kernel kills the server if this program is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
