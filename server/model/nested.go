package model

import (
	"slices"
	"strconv"
	"sync"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// stepModels finds the models of an ensemble's steps. While an outer ensemble holds the
// ensemble as a step, stepModels holds the models of the ensemble's own steps. So the step's
// request finds them even if they are unloaded before it runs.
type stepModels struct {
	models  infer.Submitter
	targets []target

	mu   sync.Mutex
	held []*nested
}

// target is the model of a step; the version is empty for the newest.
type target struct{ name, version string }

func newStepModels(models infer.Submitter, steps []*inferencepb.ModelEnsembling_Step) *stepModels {
	n := &stepModels{models: models}
	for _, s := range steps {
		t := target{name: s.GetModelName()}
		if s.GetModelVersion() != -1 {
			t.version = strconv.FormatInt(s.GetModelVersion(), 10)
		}
		if !slices.Contains(n.targets, t) {
			n.targets = append(n.targets, t)
		}
	}
	return n
}

// Acquire takes a reference to the model of a step: to a ready version, or else to a version
// that a nested ensemble holds.
func (n *stepModels) Acquire(name, version string) (infer.Callee, error) {
	m, err := n.models.Acquire(name, version)
	if err == nil {
		return m, nil
	}
	v := n.find(target{name, version})
	if v == nil {
		return nil, err
	}
	defer v.Release()
	if m, ok := v.AcquireCallee(); ok {
		return m, nil
	}
	return nil, err
}

// find returns a version that a nested ensemble holds for a step, with a reference; nil when
// none does.
func (n *stepModels) find(t target) *LoadedVersion {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range slices.Backward(n.held) {
		if c := s.steps[t]; c != nil && c.version().Acquire() {
			return c.version()
		}
	}
	return nil
}

// callee is a reference to a version that another model holds.
type callee interface {
	infer.Callee
	version() *LoadedVersion
}

func (s Step) version() *LoadedVersion { return s.LoadedVersion }

// nested is a reference to an ensemble that another ensemble holds as a step, and to the
// versions of its own steps that were ready when the reference was taken.
type nested struct {
	Step
	steps map[target]callee
}

// hold extends a reference to the ensemble: the result holds the versions of its steps too.
func (n *stepModels) hold(s Step) *nested {
	held := &nested{s, map[target]callee{}}
	for _, t := range n.targets {
		m, err := n.models.Acquire(t.name, t.version)
		if err != nil {
			continue // the request gets the error, unless the model is ready again by then
		}
		if c, ok := m.(callee); ok {
			held.steps[t] = c
		} else {
			m.Release()
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = append(n.held, held)
	return held
}

// Release releases the ensemble and the versions of its steps.
func (h *nested) Release() {
	n := h.Step.steps
	n.mu.Lock()
	i := slices.Index(n.held, h)
	n.held = slices.Delete(n.held, i, i+1)
	n.mu.Unlock()
	for _, c := range h.steps {
		c.Release()
	}
	h.Step.Release()
}
