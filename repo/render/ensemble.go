package render

import (
	"path/filepath"

	pb "triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// maxEnsembles bounds the nesting of ensembles; a server refuses a cycle.
const maxEnsembles = 32

// transactions fills the transaction policy of an ensemble, which follows from its models.
func (c *completion) transactions() error {
	if c.config.GetEnsembleScheduling() == nil {
		return nil
	}
	c.config.ModelTransactionPolicy = &pb.ModelTransactionPolicy{Decoupled: c.decoupled(c.config.ModelConfig, maxEnsembles)}
	return nil
}

// decoupled reports whether a model is decoupled, or an ensemble with such a model.
func (c *completion) decoupled(config *pb.ModelConfig, depth int) bool {
	if config.GetEnsembleScheduling() == nil {
		return config.Decoupled()
	}
	if depth == 0 {
		return false
	}
	for _, step := range config.GetEnsembleScheduling().GetStep() {
		name := step.GetModelName()
		if name != filepath.Base(name) || !filepath.IsLocal(name) {
			continue
		}
		path := filepath.Join(filepath.Dir(c.model.Dir), name, modelconfig.FileName)
		src, err := modelconfig.ReadText(path)
		if err != nil {
			continue // the model has no configuration, and is not decoupled before it loads
		}
		if composing, err := modelconfig.Parse(path, src); err == nil && c.decoupled(composing.ModelConfig, depth-1) {
			return true
		}
	}
	return false
}
