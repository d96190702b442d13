// Package search chooses configurations to measure: the searches of Model Analyzer, and one that
// plans every measurement. It measures nothing itself: a search proposes a trial, the caller
// brings the result. Equal results lead to equal proposals, so a stored search can be replayed.
package search

import (
	"triton/analyzer/search/planner"
	"triton/analyzer/search/space"
	"triton/analyzer/search/sweep"
	"triton/analyzer/search/tpe"
	"triton/analyzer/trial"
)

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
	Mode  Mode
	Space space.Space

	// Compare returns a positive number if a is better than b by the objectives: the relative
	// gain. Passes reports whether a measurement meets all constraints; nil: there are none.
	// Violation returns by how much it misses them, as a share; 0 if it meets them.
	Compare   func(a, b *trial.Measurement) float64
	Passes    func(*trial.Measurement) bool
	Violation func(*trial.Measurement) float64

	Notice func(string) // receives log lines

	Sweep   sweep.Options
	TPE     tpe.Options
	Planner planner.Options
}
