package load

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"triton/pkg/client/lane"
)

// PreciseAlarm returns an Alarm that is late by tens of microseconds: the kernel's timer
// wakes the runtime's poller, which otherwise waits in whole milliseconds. Where the kernel has no
// such timer it returns a TimerAlarm.
func PreciseAlarm(stop <-chan struct{}) Alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return TimerAlarm(stop)
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return TimerAlarm(stop)
	}
	a := &kernelAlarm{file: file, raw: raw, stop: stop, closed: make(chan struct{}), ended: make(chan struct{})}
	a.try = a.over
	go a.watch()
	return a
}

type kernelAlarm struct {
	file   *os.File
	raw    syscall.RawConn
	stop   <-chan struct{}
	closed chan struct{}
	ended  chan struct{} // closed when watch has returned

	due   int64 // on lane.Now's clock
	set   bool  // the timer is
	errno syscall.Errno
	try   func(fd uintptr) bool
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
	a.due, a.set = lane.Now()+int64(d), false
	err := a.raw.Read(a.try)
	return err == nil && a.errno == 0 && !isClosed(a.stop)
}

// over reports whether the time is over. It sets the timer; the poller waits for it. Nothing
// reads the timer: the clock says as much, and setting it again forgets that it fired. The call
// is brief and the program idle, so that the scheduler is not told of it, which would wake its
// watchdog thread.
func (a *kernelAlarm) over(fd uintptr) bool {
	left := a.due - lane.Now()
	if left <= 0 {
		return true
	}
	if a.set && left > int64(time.Millisecond) {
		return false // the poller has reported a time before this one
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(left)}
	_, _, a.errno = syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&at)), 0, 0, 0)
	a.set = true
	return a.errno != 0
}

func (a *kernelAlarm) Close() {
	close(a.closed)
	<-a.ended
	_ = a.file.Close()
}
