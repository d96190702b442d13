package search

import (
	"errors"

	"triton/analyzer/trial"
)

var errBeyond = errors.New("not run: a smaller configuration ran out of memory")

// limit is a trial that ran out of memory. Every trial that is at least as large does too.
type limit struct {
	models []extent
	// load reports that the trial failed under load, so that a smaller load may fit.
	load bool
}

// extent is the size of one model of a trial.
type extent struct {
	other               string // the part of the configuration whose effect on memory is unknown
	instances, maxBatch int
	load                trial.Load
	concurrency         int
}

func (t *measurer) limitOf(r *trial.Result) limit {
	class := r.Failure.Class
	return limit{
		models: t.extents(r.Proposal),
		load:   class != trial.OutOfGPUMemoryAtLoad && class != trial.MemoryLimit,
	}
}

func (t *measurer) extents(p trial.Proposal) []extent {
	var list []extent
	for i, m := range p.Members {
		spec := Model{Name: m.Model}
		if i < len(t.Space.Models) {
			spec = t.Space.Models[i]
		}
		list = append(list, extentOf(spec, m, m.Load))
		for k, c := range m.Composing {
			part := Model{Name: c.Model}
			if k < len(spec.Composing) {
				part = spec.Composing[k]
			}
			list = append(list, extentOf(part, c, trial.Load{}))
		}
	}
	return list
}

func extentOf(spec Model, m trial.ProposedMember, load trial.Load) extent {
	e := extent{other: spec.Other(m.Patch), load: load, concurrency: load.Concurrency + load.RequestRate}
	e.instances, e.maxBatch = spec.Shape(m.Patch)
	return e
}

// refuse returns why a proposal is known not to fit the memory.
func (t *measurer) refuse(p trial.Proposal) error {
	if len(t.limits) > 0 {
		size := t.extents(p)
		for _, l := range t.limits {
			if l.covers(size) {
				return errBeyond
			}
		}
	}
	return nil
}

// covers reports whether a trial is at least as large as the one that failed.
func (l limit) covers(size []extent) bool {
	if len(size) != len(l.models) {
		return false
	}
	for i, m := range l.models {
		s := size[i]
		if s.other != m.other || s.instances < m.instances || s.maxBatch < m.maxBatch {
			return false
		}
		if l.load && (s.load.Batch < m.load.Batch || s.concurrency < m.concurrency ||
			s.load.Intervals != m.load.Intervals || (s.load.RequestRate > 0) != (m.load.RequestRate > 0)) {
			return false
		}
	}
	return true
}
