package bench

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a process into a group of its own, so that an interrupt from the terminal does not
// reach it, and makes the kernel kill it with this program. Cancelling kills the group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
