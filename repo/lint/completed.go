package lint

import (
	"slices"

	"triton/pkg/modelconfig/requirement"
	"triton/repo"
)

// Rules about what a load may complete, and about what another backend allows.
var (
	completedRules = []string{"TRN202", "TRN203"}
	foreignRules   = []string{"TRN404"}
)

// dropCompleted removes the findings that nobody can know here: the model file is not there, a Python
// model completes its configuration, or the backend is another server's.
func (r *run) dropCompleted() {
	if r.config == nil || r.ConfigOnly || r.isEnsemble() {
		return
	}
	has := r.options.Backends
	if has == nil {
		has = requirement.Backends()
	}
	var drop []string
	if foreign := !slices.Contains(has, r.config.Backend); foreign {
		drop = slices.Concat(completedRules, foreignRules)
	} else if r.weightless || r.completing {
		drop = completedRules
	}
	r.found = slices.DeleteFunc(r.found, func(f repo.Finding) bool { return slices.Contains(drop, f.Rule) })
}
