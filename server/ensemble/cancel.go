package ensemble

// setError records the first error. No step starts after it, including those that wait
// for their limit.
func (f *flow) setError(err error) {
	if f.err != nil {
		return
	}
	f.err = err
	for _, s := range f.steps {
		f.withdraw(s, err)
	}
}

// cancelSteps cancels every step in flight. Steps that wait for their limit end at once,
// queued ones as soon as they are withdrawn.
func (f *flow) cancelSteps() {
	for _, s := range f.steps {
		f.cancel(s, errCancelled())
	}
}

// failAndCancel fails the flow and cancels every step in flight.
func (f *flow) failAndCancel(err error) {
	f.setError(err)
	for _, s := range f.steps {
		s.request.Cancel()
	}
}

// cancel cancels a step; err is the error for a step that waits for its limit.
func (f *flow) cancel(s *step, err error) {
	if !f.withdraw(s, err) {
		s.request.Cancel()
	}
}

// withdraw ends a step that waits for its limit, and reports whether it waited.
func (f *flow) withdraw(s *step, err error) bool {
	waited := f.e.limits[s.index].withdraw(s)
	if waited {
		f.discard(s, err)
	}
	return waited
}
