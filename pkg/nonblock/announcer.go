package nonblock

// A call of up to quietCall bytes takes some ten microseconds, which is what the monitor lets pass
// before it gives the caller's place to others. Of calls that are no longer, one in quietBytes bytes
// is announced: a process that receives long messages at the speed of the network is idle for moments
// in between, and each announced call of 64 KB would wake the monitor, a tenth of the process's time
// with messages of 1 MB.
const (
	quietCall  = 128 << 10
	quietBytes = 4 << 20
)

// Announcer decides which calls of a connection's long messages are announced. The zero value is
// ready.
type Announcer struct{ quiet int }

// Call counts a call for up to n bytes and reports whether to announce it.
func (a *Announcer) Call(n int) bool {
	a.quiet += n
	if n <= quietCall && a.quiet < quietBytes {
		return false
	}
	a.quiet = 0
	return true
}
