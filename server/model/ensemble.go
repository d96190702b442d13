package model

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/server/ensemble"
	"triton/server/stats"
)

// loadEnsemble completes a version of an ensemble. old is the version that it replaces; nil
// if it replaces none.
func (b *Builder) loadEnsemble(v *LoadedVersion, s Source, old *LoadedVersion) error {
	config := modelconfig.New(s.Config.File, proto.CloneOf(s.Config.ModelConfig))
	if err := s.Config.First(s.Config.ValidateIO()); err != nil {
		return err
	}
	var err error
	if v.extensions, err = extensions(s.Config); err != nil { // an ensemble supports only those of its residency
		return err
	}
	if v.labels, err = readLabels(s.Folder.Dir, config.ModelConfig); err != nil {
		return err
	}
	steps := config.GetEnsembleScheduling().GetStep()
	var configs []*inferencepb.ModelConfig
	fingerprints := make([]*fingerprint, len(v.composing))
	for i, p := range v.composing {
		configs, fingerprints[i] = append(configs, p.config), p.fingerprint
		v.inheritLabels(steps[i], p)
		steps[i].ModelNamespace = p.namespace
	}
	config.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: modelconfig.Decoupled(configs)}
	v.config = config.ModelConfig
	v.fingerprint = ensembleFingerprint(fingerprints)
	v.fingerprint.Complete(v.model, v.versionText, v.config)
	v.check, v.metadata = newChecker(v.config), Describe(v.config, v.versionText)
	if n := v.config.GetEnsembleScheduling().GetMaxInflightRequests(); n > 0 {
		b.opts.Log.Info(fmt.Sprintf("Ensemble model '%s' configured with max_inflight_requests: %d", v.label, n))
	}
	if old != nil && old.from.Stamp.Same(v.from.Stamp) && proto.Equal(old.config, v.config) {
		v.stats = old.stats
	} else {
		v.stats = stats.New(v.config, v.versionText, b.opts.Stats)
	}
	models := s.Models
	if b.opts.Cache != nil {
		models = &stepObserver{models, v}
	}
	v.steps = newStepModels(models, steps)
	v.runner = ensemble.New(ensemble.Options{Config: v.config, Models: configs, Stats: v.stats, Log: v.log, Submitter: v.steps})
	v.runner, err = b.cached(v, v.runner)
	return err
}

// inheritLabels copies the class names of a step's model to the ensemble's outputs that have
// none.
func (v *LoadedVersion) inheritLabels(step *inferencepb.ModelEnsembling_Step, composing *LoadedVersion) {
	for from, to := range step.GetOutputMap() {
		if v.labels[to] == nil && composing.labels[from] != nil {
			v.labels[to] = composing.labels[from]
		}
	}
}
