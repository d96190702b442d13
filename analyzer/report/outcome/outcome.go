// Package outcome arranges what a profile measured for its reports: the variants of each model, the
// best first, the failed trials, and texts about configurations, devices and constraints. It writes
// nothing.
package outcome

import (
	"strings"

	"triton/analyzer/metric"
	"triton/analyzer/profile"
	"triton/analyzer/ranking"
	"triton/analyzer/trial"
)

// Outcome is the arranged report of a profile.
type Outcome struct {
	Report *profile.Report
	// AlwaysGPU reports metrics of devices also for models that use none.
	AlwaysGPU bool
	Models    []Model
}

// Model is the outcome of one search: of one model, or of several that were profiled together.
type Model struct {
	profile.ModelReport
	Scorer   ranking.Scorer
	Variants []Variant // the best first
	Failed   []trial.Result
}

// Variant is the measurements of one configuration.
type Variant struct {
	ranking.Variant
	// Name is the names of the members' variants, joined by commas. Variants that differ only in
	// composing models have the names of those too.
	Name string
	// Passed and Missed are the results that satisfy the constraints and those that do not, the
	// best first.
	Passed, Missed []trial.Result
}

// New arranges a report.
func New(r *profile.Report, alwaysGPU bool) *Outcome {
	o := &Outcome{Report: r, AlwaysGPU: alwaysGPU}
	for _, m := range r.Models {
		goals := make([]metric.Goal, len(m.Members))
		for i := range m.Members {
			goals[i] = m.Members[i].Goal
		}
		o.Models = append(o.Models, arrange(m, ranking.New(goals...)))
	}
	return o
}

func arrange(m profile.ModelReport, scorer ranking.Scorer) Model {
	out := Model{ModelReport: m, Scorer: scorer}
	ranked := scorer.Rank(m.Results)
	names := map[string]int{}
	for _, v := range ranked {
		names[memberNames(v.Best.Config)]++
	}
	for _, v := range ranked {
		name := memberNames(v.Best.Config)
		if names[name] > 1 {
			name = v.Key
		}
		variant := Variant{Variant: v, Name: name}
		for _, r := range v.Results {
			if scorer.Passes(r.Measurement) {
				variant.Passed = append(variant.Passed, r)
			} else {
				variant.Missed = append(variant.Missed, r)
			}
		}
		out.Variants = append(out.Variants, variant)
	}
	for _, r := range m.Results {
		if r.Measurement == nil {
			out.Failed = append(out.Failed, r)
		}
	}
	return out
}

// memberNames joins the names of the variants of the members.
func memberNames(c trial.Config) string {
	names := make([]string, len(c.Members))
	for i, m := range c.Members {
		names[i] = m.Name
	}
	return strings.Join(names, ",")
}

// Top returns the n best variants and the user's own configuration, and warnings for the user.
func (m *Model) Top(n int) ([]Variant, []string) {
	ranked := make([]ranking.Variant, len(m.Variants))
	byKey := map[string]Variant{}
	for i, v := range m.Variants {
		ranked[i], byKey[v.Key] = v.Variant, v
	}
	top, warnings := ranking.Top(ranked, n)
	out := make([]Variant, len(top))
	for i, v := range top {
		out[i] = byKey[v.Key]
	}
	return out, warnings
}

// Default returns the best result of the user's own configuration that satisfies the constraints.
func (m *Model) Default() (trial.Result, bool) {
	for _, v := range m.Variants {
		if v.Default() && len(v.Passed) > 0 {
			return v.Passed[0], true
		}
	}
	return trial.Result{}, false
}

// Measurements returns the number of trials with a measurement.
func (m *Model) Measurements() int {
	n := 0
	for _, v := range m.Variants {
		n += len(v.Results)
	}
	return n
}

// Across returns all models of which each was profiled alone as one, compared by one goal. Its name
// is AcrossName.
func (o *Outcome) Across(goal metric.Goal) Model {
	all := profile.ModelReport{Name: AcrossName, Members: []profile.MemberReport{{Goal: goal}}}
	for _, m := range o.Models {
		all.Results = append(all.Results, m.Results...)
	}
	return arrange(all, ranking.New(goal))
}

// AcrossName is the name of the comparison of all models.
const AcrossName = "Best Configs Across All Models"

// Find returns the variant with a name, and its model. A variant of several members is also found
// by its key.
func (o *Outcome) Find(name string) (*Model, Variant, bool) {
	for i := range o.Models {
		for _, v := range o.Models[i].Variants {
			if v.Name == name || v.Key == name {
				return &o.Models[i], v, true
			}
		}
	}
	return nil, Variant{}, false
}

// Ensemble reports whether the model is an ensemble, whose own configuration says little: the
// composing models count.
func (m *Model) Ensemble() bool {
	return len(m.Members) == 1 && m.Members[0].Ensemble
}

// BLS reports whether the model calls other models that are profiled with it.
func (m *Model) BLS() bool {
	return len(m.Members) == 1 && !m.Members[0].Ensemble && len(m.Members[0].Composing) > 0
}
