package scheduler

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// preciseAlarm is a kernel timer. The runtime polls it like any other input, so it is
// precise to some ten microseconds, which matters for queue delays of 100 us.
type preciseAlarm struct {
	fd    int
	file  *os.File
	ticks chan time.Time
	ended chan struct{}
}

// NewPreciseAlarm returns an alarm for delays below a millisecond, or NewAlarm where the
// system has none.
func NewPreciseAlarm() Alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return NewAlarm()
	}
	a := &preciseAlarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd"), ticks: make(chan time.Time, 1), ended: make(chan struct{})}
	go a.watch()
	return a
}

func (a *preciseAlarm) watch() {
	defer close(a.ended)
	var expirations [8]byte
	for {
		if _, err := a.file.Read(expirations[:]); err != nil {
			return // closed
		}
		select {
		case a.ticks <- time.Time{}:
		default: // a tick is already waiting
		}
	}
}

func (a *preciseAlarm) C() <-chan time.Time { return a.ticks }

func (a *preciseAlarm) Set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))}
	// It fails only for a wrong descriptor or value.
	_ = unix.TimerfdSettime(a.fd, 0, &spec, nil)
}

func (a *preciseAlarm) Close() {
	_ = a.file.Close() // wakes the reader; nothing was written that could be lost
	<-a.ended
}
