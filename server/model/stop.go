package model

import "triton/server/infer"

// Stop refuses all further requests except those of other models. idle is called each time
// the last request releases the version; it must not block.
func (v *Loaded) Stop(idle func()) {
	v.idle.Store(&idle)
	v.closing.Store(true)
}

// Closing reports whether Stop was called.
func (v *Loaded) Closing() bool { return v.closing.Load() }

// Call takes a reference for a model that calls this one. It returns false when the version
// is closed already.
func (v *Loaded) Call() (infer.Callee, bool) {
	if !v.Acquire() {
		return nil, false
	}
	if v.closing.Load() {
		v.called.Add(1)
	}
	if v.steps != nil {
		return v.steps.keep(Step{v}), true
	}
	return Step{v}, true
}

// Idle reports whether there was a moment when no request held any of some stopped
// versions. Nothing runs in them from then on, because only they can call each other. It is
// not enough that each was once without references: another one may have called it since.
// So Idle also requires that no calls came in between.
func Idle(all []*Loaded) bool {
	before := calls(all)
	for _, v := range all {
		if v.held() > 0 {
			return false
		}
	}
	return calls(all) == before
}

func calls(all []*Loaded) (n uint64) {
	for _, v := range all {
		n += v.called.Load()
	}
	return n
}
