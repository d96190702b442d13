package model

import "triton/server/infer"

// submitter returns what an engine asks for when its model calls others. A version
// whose engine asked is drained before others are closed.
func (v *Loaded) submitter(models infer.Submitter) func() infer.Submitter {
	return func() infer.Submitter {
		v.calls.Store(true)
		return models
	}
}

// EngineCalls reports whether the engine calls other models.
func (v *Loaded) EngineCalls() bool { return v.calls.Load() }

// Ensemble reports whether the version has no engine: other models answer for it.
func (v *Loaded) Ensemble() bool { return v.group == nil }

// Step is a version as other models call it: what was begun is finished, also
// while the server ends.
type Step struct{ *Loaded }

var _ infer.Callee = Step{}
