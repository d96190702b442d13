package lint

import (
	"fmt"
	"slices"

	"triton/pkg/inferencepb"
)

// ensemble compares an ensemble with its composing models. It is called after those were checked,
// and reports true when all that can be said about it was said.
func (r *run) ensemble(known *peers) {
	if r.config == nil || r.Repository == "" || r.compared {
		return // the composing models are not known
	}
	r.compared = true
	steps := r.config.GetEnsembleScheduling().GetStep()
	if last, found := known.findCycle(r, r.Name, map[string]bool{}); found {
		r.add(ruleCycle, "ensemble_scheduling", fmt.Sprintf("circular dependency between ensembles: %s -> ... -> %s -> %s", r.Name, last, r.Name),
			"take one of the steps out")
		return
	}
	for i, s := range steps {
		if s.ModelName == "" {
			continue
		}
		composing := known.find(r, s.ModelName)
		if composing == nil {
			r.missingModel(i, known)
			continue
		}
		composing.ensemble(known)
		r.stepModel(i, composing)
		r.stepVersion(i, s, composing)
	}
	if len(steps) > 0 && len(r.config.Validate()) == 0 {
		r.addAll(r.config.ValidateComposing(func(i int) *inferencepb.ModelConfig { return known.config(r, steps[i].ModelName) }))
	}
}

func (r *run) missingModel(step int, known *peers) {
	steps := r.config.GetEnsembleScheduling().GetStep()
	name := steps[step].ModelName
	hint := "add the model to the repository"
	used := func(n string) bool {
		return slices.ContainsFunc(steps, func(s *inferencepb.ModelEnsembling_Step) bool { return s.ModelName == n })
	}
	// Models of one repository have similar names, such as det_pre and det_post, so that only
	// another spelling of the same name is a suggestion.
	for _, n := range known.names(r) {
		if n != r.Name && !used(n) && alike(n, name) {
			hint = fmt.Sprintf("did you mean %q?", n)
		}
	}
	r.add(ruleMissingComposing, fmt.Sprintf("ensemble_scheduling.step[%d].model_name", step), fmt.Sprintf(
		"ensemble %s contains models that are not available or ambiguous: %s", r.Name, name), hint)
}

// stepModel reports a composing model that does not load, in the words of the server.
func (r *run) stepModel(step int, composing *run) {
	why := composing.failed()
	if why == "" {
		return
	}
	msg, hint := "", "correct that model first"
	switch {
	case composing.unread:
		msg = fmt.Sprintf("ensemble %s contains models that are not available or ambiguous: %s", r.Name, composing.Name)
		hint += ": " + why
	case composing.isEnsemble():
		msg = fmt.Sprintf("ensemble '%s' depends on '%s' which is not valid. Model '%s' failed with error: %s", r.Name, composing.Name, composing.Name, why)
	default:
		msg = fmt.Sprintf("ensemble '%s' depends on '%s' which has no loaded version. Model '%s' loading failed with error: %s", r.Name, composing.Name, composing.Name, why)
	}
	r.add(ruleStepFails, fmt.Sprintf("ensemble_scheduling.step[%d].model_name", step), msg, hint)
}

// stepVersion checks the version that a step names. A step without a version names version 0,
// the default of the field.
func (r *run) stepVersion(step int, s *inferencepb.ModelEnsembling_Step, composing *run) {
	if s.ModelVersion == -1 || len(composing.served) == 0 ||
		slices.ContainsFunc(composing.served, func(v servedVersion) bool { return v.Number == s.ModelVersion }) {
		return
	}
	r.add(ruleStepVersion, fmt.Sprintf("ensemble_scheduling.step[%d].model_version", step), fmt.Sprintf(
		"ensemble '%s' depends on '%s' whose required version %d is not loaded.", r.Name, s.ModelName, s.ModelVersion),
		"write model_version: -1 for the newest that is served")
}
