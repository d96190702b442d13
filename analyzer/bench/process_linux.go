package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// ownGroup puts a process into a group of its own, so that an interrupt from the terminal does not
// reach it, and makes the kernel kill it with this program. Cancelling kills the group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// clockTicks is the unit of CPU times in /proc, the same on all architectures of Linux.
const clockTicks = time.Second / 100

// cpuTime returns the CPU time that a process has used.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is a name in parentheses, which may contain blanks.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 13 {
		return 0, errors.New("unknown form of /proc/PID/stat")
	}
	var sum time.Duration
	for _, f := range fields[11:13] { // user and system
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * clockTicks
	}
	return sum, nil
}
