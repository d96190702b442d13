//go:build !linux

package hostpolicy

// Supported reports whether threads can be bound on this system.
const Supported = false

func onMainThread() bool { return false }

func (p Policy) bind() error { return nil }
