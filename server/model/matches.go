package model

import (
	"strconv"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// matchesFingerprint reports whether a version still gives the answers that its fingerprint
// identifies. An ensemble does not, once one of its composing versions was replaced or a step
// has used another version. That happens between the load of a composing model and the load
// of the ensemble, and as long as the latter fails.
func (v *LoadedVersion) matchesFingerprint() bool {
	if v.stepChanged.Load() {
		return false
	}
	for _, p := range v.composing {
		if p.retired.Load() || !p.matchesFingerprint() {
			return false
		}
	}
	return true
}

// recordStep records the version that a step of an ensemble uses.
func (v *LoadedVersion) recordStep(step int, p *LoadedVersion) {
	if v.composing[step] != p && !v.stepChanged.Load() {
		v.stepChanged.Store(true)
	}
}

// stepObserver finds the models of an ensemble's steps and records their versions.
type stepObserver struct {
	models infer.Submitter
	v      *LoadedVersion
}

// Acquire takes a reference to the model of a step.
func (s *stepObserver) Acquire(name, version string) (infer.Callee, error) {
	m, err := s.models.Acquire(name, version)
	if err != nil {
		return nil, err
	}
	if p, ok := m.(callee); ok {
		for i, step := range s.v.config.GetEnsembleScheduling().GetStep() {
			if step.GetModelName() == name && uses(step, version) {
				s.v.recordStep(i, p.version())
			}
		}
	}
	return m, nil
}

// uses reports whether a step uses a version, empty for the newest.
func uses(step *inferencepb.ModelEnsembling_Step, version string) bool {
	n := step.GetModelVersion()
	return n == -1 && version == "" || n != -1 && strconv.FormatInt(n, 10) == version
}
