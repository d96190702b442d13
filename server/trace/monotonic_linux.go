package trace

import "golang.org/x/sys/unix"

// monotonic is the machine's monotonic clock in nanoseconds: the one that other
// programs on it read too, Triton and its clients among them.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}
