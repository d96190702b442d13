package model

import "triton/server/infer"

// submitter returns the function by which an engine gets the models that it calls. A version
// whose engine has called it is drained before other versions are closed.
func (v *Loaded) submitter(models infer.Submitter) func() infer.Submitter {
	return func() infer.Submitter {
		v.calls.Store(true)
		return models
	}
}

// EngineCalls reports whether the engine calls other models.
func (v *Loaded) EngineCalls() bool { return v.calls.Load() }

// Ensemble reports whether the version is an ensemble: it has no engine.
func (v *Loaded) Ensemble() bool { return v.group == nil }

// Step is a version as other models call it. It takes requests also while the server ends.
type Step struct{ *Loaded }

var _ infer.Callee = Step{}
