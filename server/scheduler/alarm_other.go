//go:build !linux

package scheduler

// NewPrecise is NewClock where no better timer is known.
func NewPrecise() Alarm { return NewClock() }
