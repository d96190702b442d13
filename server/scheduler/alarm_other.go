//go:build !linux

package scheduler

// NewPreciseAlarm returns an alarm for delays below a millisecond, or NewAlarm where the
// system has none.
func NewPreciseAlarm() Alarm { return NewAlarm() }
