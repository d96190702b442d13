package model

import "time"

// Acquire takes a reference. It returns false when the version is closed already.
func (v *LoadedVersion) Acquire() bool {
	for {
		n := v.refs.Load()
		if n <= 0 {
			return false
		}
		if v.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release releases a reference.
func (v *LoadedVersion) Release() {
	n := v.refs.Add(-1)
	switch {
	case n > 1:
		return
	case n == 0:
		close(v.drained)
	case n < 0:
		panic("model: version released more often than taken")
	}
	if idle := v.idle.Load(); idle != nil && v.otherRefs() == 0 {
		(*idle)()
	}
}

// Retire releases the repository's reference, because the version goes out of service. Further calls
// have no effect.
func (v *LoadedVersion) Retire() {
	if !v.retired.Swap(true) {
		v.retiredAt.Store(time.Now().UnixNano())
		v.Release()
	}
}

// Drained returns a channel that is closed when the last reference is released.
func (v *LoadedVersion) Drained() <-chan struct{} { return v.drained }

// otherRefs returns the number of references without the repository's.
func (v *LoadedVersion) otherRefs() int64 {
	n := v.refs.Load()
	if !v.retired.Load() {
		n--
	}
	return max(n, 0)
}

// InFlight returns the number of requests in flight, or of sequences that have a slot if
// those are more.
func (v *LoadedVersion) InFlight() int64 {
	n := v.otherRefs()
	if v.sequences != nil && !v.replaced.Load() {
		n = max(n, int64(v.sequences.SlotsInUse()))
	}
	return n
}
