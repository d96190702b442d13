package model

import (
	"strconv"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// steady reports whether the answers of a version are those that its fingerprint
// says. Those of an ensemble are not any more once another version has taken the place
// of a part, or a request has met one: between a part's load and its own, or for as
// long as its own fails.
func (v *Loaded) steady() bool {
	if v.strayed.Load() {
		return false
	}
	for _, p := range v.parts {
		if p.left.Load() || !p.steady() {
			return false
		}
	}
	return true
}

// met notes the version that a step of an ensemble found.
func (v *Loaded) met(step int, p *Loaded) {
	if v.parts[step] != p && !v.strayed.Load() {
		v.strayed.Store(true)
	}
}

// stepFinder finds the models of an ensemble's steps, and notes which versions they
// are.
type stepFinder struct {
	models infer.Submitter
	v      *Loaded
}

// Hold takes a reference to the model of a step.
func (s *stepFinder) Hold(name, version string) (infer.Callee, error) {
	m, err := s.models.Hold(name, version)
	if err != nil {
		return nil, err
	}
	if p, ok := m.(callee); ok {
		for i, step := range s.v.config.GetEnsembleScheduling().GetStep() {
			if step.GetModelName() == name && asksFor(step, version) {
				s.v.met(i, p.version())
			}
		}
	}
	return m, nil
}

// asksFor reports whether a step is for a version, empty for the newest.
func asksFor(step *inferencepb.ModelEnsembling_Step, version string) bool {
	n := step.GetModelVersion()
	return n == -1 && version == "" || n != -1 && strconv.FormatInt(n, 10) == version
}
