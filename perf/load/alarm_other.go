//go:build !linux

package load

// PreciseAlarm returns a TimerAlarm.
func PreciseAlarm(stop <-chan struct{}) Alarm { return TimerAlarm(stop) }
