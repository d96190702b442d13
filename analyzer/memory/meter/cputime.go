package meter

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"
)

// clockTicks is the unit of CPU times in /proc, the same on all architectures of Linux.
const clockTicks = time.Second / 100

// CPUTime returns the CPU time that processes have used.
func (f FS) CPUTime(pids ...int) (sum time.Duration, err error) {
	for _, pid := range pids {
		b, err := os.ReadFile(f.path("proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			return 0, err
		}
		// The second field is a name in parentheses, which may contain blanks.
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(fields) < 13 {
			return 0, errors.New("unknown form of /proc/PID/stat")
		}
		for _, field := range fields[11:13] { // user and system
			n, err := strconv.ParseInt(string(field), 10, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n) * clockTicks
		}
	}
	return sum, nil
}
