package python

import (
	"os"
	"os/exec"
	"syscall"
)

// guarded gives the guard its process group and its descriptors. The end of the command's
// context kills the group. The caller calls release when the command has ended.
func guarded(cmd *exec.Cmd, lock *os.File) (release func(), err error) {
	ends, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{guardAlive - 3: ends, guardLock - 3: lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return func() {
		_ = ends.Close()
		_ = alive.Close() // nothing was written
	}, nil
}
