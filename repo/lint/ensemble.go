package lint

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/spelling"
)

// modelRuns are the checks of the models of a repository by name, each with the configuration
// that a server uses by default.
type modelRuns map[string]*run

// ensemble compares an ensemble with its composing models.
func (r *run) ensemble(known modelRuns) {
	if r.config == nil || r.ConfigOnly || len(r.peers) < 2 {
		return // the composing models are not known
	}
	steps := r.config.GetEnsembleScheduling().GetStep()
	if last, found := known.findCycle(r.Name, r.Name, map[string]bool{}); found {
		r.add(ruleCycle, "ensemble_scheduling", fmt.Sprintf("circular dependency between ensembles: %s -> ... -> %s -> %s", r.Name, last, r.Name),
			"take one of the steps out")
		return
	}
	for i, s := range steps {
		if s.ModelName != "" && !r.peers[s.ModelName] {
			r.missingModel(i, s.ModelName)
		}
		r.stepVersion(i, s, known[s.ModelName])
	}
	if len(steps) > 0 && len(r.config.Validate()) == 0 {
		r.addAll(r.config.ValidateComposing(func(i int) *inferencepb.ModelConfig { return known.config(steps[i].ModelName) }))
	}
}

func (r *run) missingModel(step int, name string) {
	hint := "add the model to the repository"
	if near, ok := spelling.Nearest(name, slices.Sorted(maps.Keys(r.peers))); ok {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	r.add(ruleMissingComposing, fmt.Sprintf("ensemble_scheduling.step[%d].model_name", step), fmt.Sprintf(
		"ensemble %s contains models that are not available or ambiguous: %s", r.Name, name), hint)
}

// stepVersion checks the version that a step names. A step without a version names version 0,
// the default of the field.
func (r *run) stepVersion(step int, s *inferencepb.ModelEnsembling_Step, composing *run) {
	if composing == nil || s.ModelVersion == -1 || len(composing.served) == 0 ||
		slices.ContainsFunc(composing.served, func(v servedVersion) bool { return v.Number == s.ModelVersion }) {
		return
	}
	r.add(ruleStepVersion, fmt.Sprintf("ensemble_scheduling.step[%d].model_version", step), fmt.Sprintf(
		"ensemble '%s' depends on '%s' whose required version %d is not loaded.", r.Name, s.ModelName, s.ModelVersion),
		"write model_version: -1 for the newest that is served")
}

// config returns the configuration of a composing model. It returns nil when the configuration
// lists no inputs or outputs, because the backend completes it, and for an ensemble in a cycle.
func (p modelRuns) config(name string) *inferencepb.ModelConfig {
	r := p[name]
	if r == nil || r.config == nil || len(r.config.Input) == 0 || len(r.config.Output) == 0 {
		return nil
	}
	if _, found := p.findCycle(name, name, map[string]bool{}); found {
		return nil
	}
	c := r.config.ModelConfig
	var composing []*inferencepb.ModelConfig
	for _, s := range c.GetEnsembleScheduling().GetStep() {
		composing = append(composing, p.config(s.ModelName))
	}
	if modelconfig.Decoupled(composing) {
		c = proto.CloneOf(c)
		c.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
	}
	return c
}

// findCycle follows the steps from one model, recursively, until a step names the model to. It
// returns the ensemble with that step.
func (p modelRuns) findCycle(from, to string, seen map[string]bool) (last string, found bool) {
	r := p[from]
	if r == nil || r.config == nil || seen[from] {
		return "", false
	}
	seen[from] = true
	for _, s := range r.config.GetEnsembleScheduling().GetStep() {
		if s.ModelName == to {
			return from, true
		}
		if last, found := p.findCycle(s.ModelName, to, seen); found {
			return last, true
		}
	}
	return "", false
}
