package model

import (
	"slices"
	"strconv"
	"sync"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// inner finds the models of an ensemble's steps. An ensemble that is itself held for
// a step has its own steps held as long, so that a request finds them however late it
// comes to them.
type inner struct {
	models infer.Submitter
	steps  []target

	mu   sync.Mutex
	kept []*nested
}

// target is the model of a step; the version is empty for the newest.
type target struct{ name, version string }

func newInner(models infer.Submitter, steps []*inferencepb.ModelEnsembling_Step) *inner {
	n := &inner{models: models}
	for _, s := range steps {
		t := target{name: s.GetModelName()}
		if s.GetModelVersion() != -1 {
			t.version = strconv.FormatInt(s.GetModelVersion(), 10)
		}
		if !slices.Contains(n.steps, t) {
			n.steps = append(n.steps, t)
		}
	}
	return n
}

// Hold takes a reference to the model of a step: to a ready version, or else to one
// that is kept.
func (n *inner) Hold(name, version string) (infer.Callee, error) {
	m, err := n.models.Hold(name, version)
	if err == nil {
		return m, nil
	}
	v := n.find(target{name, version})
	if v == nil {
		return nil, err
	}
	defer v.Release()
	if m, ok := v.Call(); ok {
		return m, nil
	}
	return nil, err
}

// find returns a version that is kept for a step, with a reference; nil when none is.
func (n *inner) find(t target) *Loaded {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range slices.Backward(n.kept) {
		if c := s.steps[t]; c != nil && c.version().Acquire() {
			return c.version()
		}
	}
	return nil
}

// callee is a version as another model holds it.
type callee interface {
	infer.Callee
	version() *Loaded
}

func (s Step) version() *Loaded { return s.Loaded }

// nested is an ensemble that is held for a step, with its own steps: those that were
// ready then.
type nested struct {
	Step
	steps map[target]callee
}

// keep makes the reference to an ensemble one that holds its steps too.
func (n *inner) keep(s Step) *nested {
	held := &nested{s, map[target]callee{}}
	for _, t := range n.steps {
		m, err := n.models.Hold(t.name, t.version)
		if err != nil {
			continue // the request will say it, unless the model is back then
		}
		if c, ok := m.(callee); ok {
			held.steps[t] = c
		} else {
			m.Release()
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kept = append(n.kept, held)
	return held
}

// Release gives the ensemble and its steps back.
func (h *nested) Release() {
	n := h.inner
	n.mu.Lock()
	i := slices.Index(n.kept, h)
	n.kept = slices.Delete(n.kept, i, i+1)
	n.mu.Unlock()
	for _, c := range h.steps {
		c.Release()
	}
	h.Step.Release()
}
