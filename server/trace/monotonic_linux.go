package trace

import "golang.org/x/sys/unix"

// monotonic returns the machine's monotonic clock in nanoseconds, which other programs read too,
// Triton and its clients among them.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}
