package model

import "triton/server/infer"

// Stop refuses all requests from now on but those that other models make. Whenever
// nobody but the repository holds the version any more, idle is called; it must not
// wait.
func (v *Loaded) Stop(idle func()) {
	v.idle.Store(&idle)
	v.closing.Store(true)
}

// Closing reports whether Stop was called.
func (v *Loaded) Closing() bool { return v.closing.Load() }

// Call takes a reference for a model that calls this one; false when the version is
// closed already.
func (v *Loaded) Call() (infer.Callee, bool) {
	if !v.Acquire() {
		return nil, false
	}
	if v.closing.Load() {
		v.called.Add(1)
	}
	if v.inner != nil {
		return v.inner.keep(Step{v}), true
	}
	return Step{v}, true
}

// Idle reports whether there was a moment when nobody but the repository held any of
// some versions, all of which were stopped. Nothing runs in them from then on: only
// they can call each other. That none was held when it was looked at is not enough,
// for the next one may have called it since; so no calls may have come meanwhile.
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
