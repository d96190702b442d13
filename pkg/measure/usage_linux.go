package measure

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ReadUsage reads the usage of this process and of the machine. The cores are those of
// GOMAXPROCS, which respects the affinity of the process and the processor limit of its cgroup.
func ReadUsage() Usage {
	u := Usage{Cores: float64(runtime.GOMAXPROCS(0))}
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	if stat, err := os.ReadFile("/proc/stat"); err == nil {
		u.Busy, u.Total = machineTime(stat)
	}
	return u
}

// tick is the unit of /proc/stat, USER_HZ, which is the same on all architectures that Go
// supports.
const tick = 10 * time.Millisecond

// machineTime reads the first line of /proc/stat: user, nice, system, idle, iowait, irq,
// softirq and steal. The time of guests is part of user and nice.
func machineTime(stat []byte) (busy, total time.Duration) {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return 0, 0
	}
	for i, f := range fields[1:9] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, 0
		}
		const idle, iowait = 3, 4
		total += time.Duration(n) * tick
		if i != idle && i != iowait {
			busy += time.Duration(n) * tick
		}
	}
	return busy, total
}
