package host

import "triton/server/hostpolicy"

// thread calls the backend of an instance; without a host policy, on the caller's thread.
type thread struct{ bound *hostpolicy.Thread }

func bound(p hostpolicy.Policy) (t thread, err error) {
	if p.Binds() {
		t.bound, err = p.Start()
	}
	return t, err
}

// call calls f, which must not panic.
func (t thread) call(f func()) {
	if t.bound == nil {
		f()
		return
	}
	t.bound.Do(f)
}

func (t thread) close() {
	if t.bound != nil {
		t.bound.Close()
	}
}
