// What a profile measured, arranged for its reports: the variants of each model, the best first, the failed
// trials, and texts about configurations, devices and constraints.

package report

import (
	"slices"
	"strings"

	"triton/analyzer/profile"
	"triton/analyzer/trial"
)

// outcome is the arranged report of a profile.
type outcome struct {
	Report *profile.Report
	// AlwaysGPU reports metrics of devices also for models that use none.
	AlwaysGPU bool
	Models    []modelOutcome
}

// modelOutcome is the outcome of one search: of one model, or of several that were profiled together.
type modelOutcome struct {
	profile.ModelReport
	Scorer   trial.Scorer
	Variants []variantOutcome // the best first
	Failed   []trial.Result
}

// variantOutcome is the measurements of one configuration.
type variantOutcome struct {
	trial.Ranked
	// Name is the names of the members' variants, joined by commas. Variants that differ only in
	// composing models have the names of those too.
	Name string
	// Passed and Missed are the results that satisfy the constraints and those that do not, the
	// best first.
	Passed, Missed []trial.Result
}

// newOutcome arranges a report.
func newOutcome(r *profile.Report, alwaysGPU bool) *outcome {
	o := &outcome{Report: r, AlwaysGPU: alwaysGPU}
	for _, m := range r.Models {
		o.Models = append(o.Models, arrange(m, trial.NewScorer(m.Goals()...)))
	}
	return o
}

func arrange(m profile.ModelReport, scorer trial.Scorer) modelOutcome {
	out := modelOutcome{ModelReport: m, Scorer: scorer}
	ranked := scorer.Rank(m.Results)
	names := map[string]int{}
	for _, v := range ranked {
		names[strings.Join(v.Best.Config.Variants(), ",")]++
	}
	for _, v := range ranked {
		name := strings.Join(v.Best.Config.Variants(), ",")
		if names[name] > 1 {
			name = v.Key
		}
		variant := variantOutcome{Ranked: v, Name: name}
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

// Top returns the n best variants and the user's own configuration, and warnings for the user. The
// variant to serve comes first, also where another one has better figures within noise.
func (m *modelOutcome) Top(n int) ([]variantOutcome, []string) {
	ranked := m.ranked()
	byKey := map[string]variantOutcome{}
	for _, v := range m.Variants {
		byKey[v.Key] = v
	}
	top, warnings := trial.TopRanked(ranked, n)
	out := make([]variantOutcome, len(top))
	for i, v := range top {
		out[i] = byKey[v.Key]
	}
	if len(out) == 0 || m.Name == acrossName {
		return out, warnings
	}
	serve, _ := m.Scorer.Recommend(ranked)
	if i := slices.IndexFunc(out, func(v variantOutcome) bool { return v.Key == ranked[serve].Key }); i > 0 {
		out = slices.Insert(slices.Delete(out, i, i+1), 0, m.Variants[serve])
	}
	return out, warnings
}

// ranked returns the variants as package trial compares them.
func (m *modelOutcome) ranked() []trial.Ranked {
	all := make([]trial.Ranked, len(m.Variants))
	for i, v := range m.Variants {
		all[i] = v.Ranked
	}
	return all
}

// Default returns the best result of the user's own configuration that satisfies the constraints.
func (m *modelOutcome) Default() (trial.Result, bool) {
	for _, v := range m.Variants {
		if v.Default() && len(v.Passed) > 0 {
			return v.Passed[0], true
		}
	}
	return trial.Result{}, false
}

// Measurements returns the number of trials with a measurement.
func (m *modelOutcome) Measurements() int {
	n := 0
	for _, v := range m.Variants {
		n += len(v.Results)
	}
	return n
}

// Across returns all models of which each was profiled alone as one, compared by one goal. Its name
// is acrossName.
func (o *outcome) Across(goal trial.Goal) modelOutcome {
	all := profile.ModelReport{Name: acrossName, Members: []profile.MemberReport{{Goal: goal}}}
	for _, m := range o.Models {
		all.Results = append(all.Results, m.Results...)
	}
	return arrange(all, trial.NewScorer(goal))
}

// acrossName is the name of the comparison of all models.
const acrossName = "Best Configs Across All Models"

// Find returns the variant with a name, and its model. A variant of several members is also found
// by its key.
func (o *outcome) Find(name string) (*modelOutcome, variantOutcome, bool) {
	for i := range o.Models {
		for _, v := range o.Models[i].Variants {
			if v.Name == name || v.Key == name {
				return &o.Models[i], v, true
			}
		}
	}
	return nil, variantOutcome{}, false
}

// Ensemble reports whether the model is an ensemble, whose own configuration says little: the
// composing models count.
func (m *modelOutcome) Ensemble() bool {
	return len(m.Members) == 1 && m.Members[0].Ensemble
}

// BLS reports whether the model calls other models that are profiled with it.
func (m *modelOutcome) BLS() bool {
	return len(m.Members) == 1 && !m.Members[0].Ensemble && len(m.Members[0].Composing) > 0
}
