package chaos

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Baseline is what the machine does when the server has no requests. Latencies on a machine that is busy
// with other work say little about the server.
type Baseline struct {
	// Busy is the share of the processors that is in use, Wake the 99th percentile of the delay with
	// which a sleeping goroutine wakes up.
	Busy float64
	Wake time.Duration
}

// The bounds of a quiet machine.
const (
	quietBusy = 0.15
	quietWake = 2 * time.Millisecond
	// most is the most by which the latency of an untouched model may grow.
	most = 1.2
)

// baseline watches the machine for a while.
func baseline(d time.Duration) Baseline {
	used, all := processorTimes()
	var delays []int64
	for begin := time.Now(); time.Since(begin) < d; {
		at := time.Now()
		time.Sleep(time.Millisecond)
		delays = append(delays, int64(time.Since(at)-time.Millisecond))
	}
	usedNow, allNow := processorTimes()
	return Baseline{Busy: float64(usedNow-used) / float64(max(1, allNow-all)), Wake: p99(delays)}
}

// processorTimes returns the time in use and the whole time of all processors, in ticks.
func processorTimes() (used, all int64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range slices.Collect(strings.FieldsSeq(strings.TrimPrefix(line, "cpu "))) {
		var n int64
		if _, err := fmt.Sscan(field, &n); err != nil || i > 7 { // guests are counted as users
			break
		}
		all += n
		if i != 3 && i != 4 { // idle, and waiting for a disk
			used += n
		}
	}
	return used, all
}

// String is the baseline as text.
func (b Baseline) String() string {
	return fmt.Sprintf("%.0f %% of the processors busy, wake-up p99 %v", 100*b.Busy, b.Wake.Round(10*time.Microsecond))
}

// quiet reports whether latencies on the machine say something about the server.
func (b Baseline) quiet() bool { return b.Busy <= quietBusy && b.Wake <= quietWake }

// Verdict says whether the untouched models stayed as fast as without events, as far as the machine lets
// one tell.
func (r *Report) Verdict() string {
	worst := Latency{}
	for _, l := range r.Latencies {
		if l.Ratio() > worst.Ratio() {
			worst = l
		}
	}
	machine := fmt.Sprintf("idle machine before: %v; after: %v", r.Idle[0], r.Idle[1])
	switch {
	case worst.Ratio() <= most:
		return fmt.Sprintf("within %.1f times (%s)", most, machine)
	case !r.Idle[0].quiet() || !r.Idle[1].quiet():
		return fmt.Sprintf("none: %s is %.2f times slower, but the machine was busy with other work (%s)", worst.Model, worst.Ratio(), machine)
	}
	return fmt.Sprintf("NOT within %.1f times: %s is %.2f times slower (%s)", most, worst.Model, worst.Ratio(), machine)
}
