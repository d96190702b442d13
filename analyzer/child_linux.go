package analyzer

import "syscall"

// attributes put a server into a process group of its own, so that an
// interrupt from the terminal reaches only this program, which ends the server
// in order, and have the kernel end it if this program is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
