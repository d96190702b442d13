package load

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// PreciseAlarm returns an Alarm that is late by tens of microseconds: the kernel's timer
// wakes the runtime's poller, which otherwise waits in whole milliseconds. Where the kernel has no
// such timer it returns a TimerAlarm.
func PreciseAlarm(stop <-chan struct{}) Alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return TimerAlarm(stop)
	}
	a := &kernelAlarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd"), stop: stop, closed: make(chan struct{}), ended: make(chan struct{})}
	go a.watch()
	return a
}

type kernelAlarm struct {
	fd      int
	file    *os.File
	stop    <-chan struct{}
	closed  chan struct{}
	ended   chan struct{} // closed when watch has returned
	expired [8]byte
}

// watch interrupts Sleep when the alarm is stopped.
func (a *kernelAlarm) watch() {
	defer close(a.ended)
	select {
	case <-a.stop:
		_ = a.file.SetReadDeadline(time.Unix(1, 0))
	case <-a.closed:
	}
}

func (a *kernelAlarm) Sleep(d time.Duration) bool {
	if d <= 0 {
		return !isClosed(a.stop)
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(a.fd, 0, &at, nil); err != nil {
		return false
	}
	_, err := a.file.Read(a.expired[:])
	return err == nil && !isClosed(a.stop)
}

func (a *kernelAlarm) Close() {
	close(a.closed)
	<-a.ended
	_ = a.file.Close()
}
