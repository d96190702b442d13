// Package search chooses configurations to measure: the searches of Model Analyzer, and one that
// plans every measurement. It measures nothing itself: a search proposes a trial, the caller
// brings the result. Equal results lead to equal proposals, so a stored search can be replayed.
package search

import "fmt"

// Mode names a search algorithm.
type Mode string

// Modes. All but Planned are those of Model Analyzer.
const (
	Brute   Mode = "brute"
	Manual  Mode = "manual" // brute over listed values only
	Quick   Mode = "quick"
	Optuna  Mode = "optuna"
	Planned Mode = "planned"
)

// Options configure a search.
type Options struct {
	Judge  Judge
	Mode   Mode
	Space  Space
	Notice func(string) // receives log lines; may be nil

	Sweep   SweepOptions
	TPE     TPEOptions
	Planner PlannerOptions
}

// New returns the search that the mode and the models ask for. Stop ends it early.
func New(o Options) (*Search, error) {
	if o.Judge.Score == nil {
		return nil, fmt.Errorf("a search needs a comparison of measurements")
	}
	if o.Mode == Manual {
		o.Space.Disabled = true
	}
	if err := o.Space.Validate(); err != nil {
		return nil, err
	}
	algorithm, err := o.algorithm()
	if err != nil {
		return nil, err
	}
	return start(o, algorithm), nil
}

// algorithm returns the algorithm of the mode. Whatever the mode but Optuna, models with composing models
// are searched by the climb; so are several models in mode Planned, which searches one.
func (o Options) algorithm() (algorithm, error) {
	swept := !o.Sweep.Disable && !o.Space.FixedLoad()
	switch o.Mode {
	case Optuna:
		a, err := tpeAlgorithm(o.Space, o.TPE)
		return o.followed(a, swept && !o.Space.UseRequestRate), err
	case Planned:
		if len(o.Space.Models) == 1 && !o.Space.Composing() {
			return plannerAlgorithm(o.Space, o.Planner)
		}
	case Brute, Manual, Quick, "":
	default:
		return nil, fmt.Errorf("search mode %q is not one of brute, manual, quick, optuna and planned", o.Mode)
	}
	if o.Mode == Quick || o.Mode == Planned || o.Space.Composing() {
		a, err := quickAlgorithm(o.Space)
		return o.followed(a, swept), err
	}
	return o.followed(bruteForce, !o.Space.Disabled && !o.Space.Listed() && !o.Space.FixedLoad()), nil
}

// followed returns an algorithm after which, if swept is set, the load of the best configurations is
// swept.
func (o Options) followed(a algorithm, swept bool) algorithm {
	if !swept {
		return a
	}
	return func(t *measurer) string {
		reason := a(t)
		sweepTop(t, o.Sweep)
		return reason
	}
}
