package model

import (
	"strconv"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// steady reports whether the answers of a version are those of its fingerprint. The answers
// of an ensemble are not when a part was replaced, or when a step has used another version:
// between the load of a part and the load of the ensemble, or as long as the latter fails.
func (v *Loaded) steady() bool {
	if v.drifted.Load() {
		return false
	}
	for _, p := range v.parts {
		if p.left.Load() || !p.steady() {
			return false
		}
	}
	return true
}

// noteStep records the version that a step of an ensemble uses.
func (v *Loaded) noteStep(step int, p *Loaded) {
	if v.parts[step] != p && !v.drifted.Load() {
		v.drifted.Store(true)
	}
}

// stepObserver finds the models of an ensemble's steps and records their versions.
type stepObserver struct {
	models infer.Submitter
	v      *Loaded
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
				s.v.noteStep(i, p.version())
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
