package search

import (
	"fmt"

	"triton/analyzer/search/brute"
	"triton/analyzer/search/planner"
	"triton/analyzer/search/quick"
	"triton/analyzer/search/space"
	"triton/analyzer/search/sweep"
	"triton/analyzer/search/tpe"
	"triton/analyzer/search/trials"
	"triton/analyzer/trial"
)

// Generator proposes trials one after another.
type Generator interface {
	// Next returns the next proposal, or false and the reason for which the search ended. last
	// is the result of the proposal before, nil at first.
	Next(last *trial.Result) (trial.Proposal, bool)
	Reason() string
}

var _ Generator = (*trials.Search)(nil)

// New returns the search that the mode and the models ask for. Stop ends it early.
func New(o Options) (*trials.Search, error) {
	if o.Compare == nil {
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
	return trials.Start(trials.Options{
		Judge:  trials.Judge{Compare: o.Compare, Passes: o.Passes, Violation: o.Violation},
		Space:  o.Space,
		Notice: o.Notice,
	}, algorithm), nil
}

func (o Options) algorithm() (trials.Algorithm, error) {
	swept := !o.Sweep.Disable && !fixedLoad(o.Space)
	switch o.Mode {
	case Optuna:
		a, err := tpe.Algorithm(o.Space, o.TPE)
		return o.followed(a, swept && !o.Space.UseRequestRate), err
	case Planned:
		if len(o.Space.Models) == 1 && !o.Space.Composing() {
			return planner.Algorithm(o.Space, o.Planner)
		}
	case Brute, Manual, Quick, "":
	default:
		return nil, fmt.Errorf("search mode %q is not one of brute, manual, quick, optuna and planned", o.Mode)
	}
	if o.Mode == Quick || o.Mode == Planned || o.Space.Composing() {
		a, err := quick.Algorithm(o.Space)
		return o.followed(a, swept), err
	}
	return o.followed(brute.Run, !o.Space.Disabled && !o.Space.Listed() && !fixedLoad(o.Space)), nil
}

func fixedLoad(s space.Space) bool {
	for _, m := range s.Models {
		if m.Load != nil || m.Intervals != "" {
			return true
		}
	}
	return false
}

// followed returns an algorithm after which, if asked for, the load of the best configurations is
// swept.
func (o Options) followed(a trials.Algorithm, swept bool) trials.Algorithm {
	if !swept {
		return a
	}
	return func(t *trials.Trials) string {
		reason := a(t)
		sweep.Top(t, o.Sweep)
		return reason
	}
}
