package model

import "triton/server/infer"

// submitter returns the function through which a backend gets access to the models that its
// model calls. If the backend has called the function, the version is drained before other
// versions are closed.
func (v *LoadedVersion) submitter(models infer.Submitter) func() infer.Submitter {
	return func() infer.Submitter {
		v.callsModels.Store(true)
		return models
	}
}

// CallsModels reports whether the backend's model calls other models.
func (v *LoadedVersion) CallsModels() bool { return v.callsModels.Load() }

// Ensemble reports whether the version is an ensemble, which has no instances.
func (v *LoadedVersion) Ensemble() bool { return v.group == nil }

// Step is a version as other models call it. It accepts requests during a drain too.
type Step struct{ *LoadedVersion }

var _ infer.Callee = Step{}
