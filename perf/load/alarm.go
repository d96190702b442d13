package load

import "time"

// Alarm sleeps until the start of the next request. One goroutine uses it.
type Alarm interface {
	// Sleep returns true after d, at once if d is not positive, and false as soon as the
	// alarm is stopped.
	Sleep(d time.Duration) bool
	Close()
}

// TimerAlarm returns an Alarm over time.Timer that stop stops. In an idle program it is up to
// a millisecond late, because the runtime waits in whole milliseconds.
func TimerAlarm(stop <-chan struct{}) Alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &timerAlarm{t, stop}
}

type timerAlarm struct {
	*time.Timer
	stop <-chan struct{}
}

func (a *timerAlarm) Sleep(d time.Duration) bool {
	if d <= 0 {
		return !isClosed(a.stop)
	}
	a.Reset(d)
	select {
	case <-a.C:
		return true
	case <-a.stop:
		return false
	}
}

func (a *timerAlarm) Close() { a.Stop() }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
