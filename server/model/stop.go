package model

import "triton/server/infer"

// Stop refuses all further requests except those of other models. idle is called each time
// the last request releases the version; it must not block.
func (v *LoadedVersion) Stop(idle func()) {
	v.idle.Store(&idle)
	v.stopped.Store(true)
}

// Stopped reports whether Stop was called.
func (v *LoadedVersion) Stopped() bool { return v.stopped.Load() }

// AcquireCallee takes a reference for a model that calls this one. It returns false when the version
// is closed already.
func (v *LoadedVersion) AcquireCallee() (infer.Callee, bool) {
	if !v.Acquire() {
		return nil, false
	}
	if v.stopped.Load() {
		v.callsAfterStop.Add(1)
	}
	if v.steps != nil {
		return v.steps.hold(Step{v}), true
	}
	return Step{v}, true
}

// Idle reports whether there was a moment when no request held any of the versions, which
// are all stopped. Nothing runs in them after that moment, because only they can call each
// other. It is not enough to find each version without references: another one may have
// called it after it was checked. So Idle also requires that none was called during the check.
func Idle(all []*LoadedVersion) bool {
	before := countCalls(all)
	for _, v := range all {
		if v.otherRefs() > 0 {
			return false
		}
	}
	return countCalls(all) == before
}

func countCalls(all []*LoadedVersion) (n uint64) {
	for _, v := range all {
		n += v.callsAfterStop.Load()
	}
	return n
}
