package builtin

import (
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/requirement"
)

// check returns the first mistake in the configuration of a backend's model.
func check(backendName string, cfg *inferencepb.ModelConfig) error {
	return modelconfig.FirstError(requirement.Check(backendName, modelconfig.New("", cfg)))
}

// count returns a parameter that is a number and was checked; 0 if it is not set.
func count(cfg *inferencepb.ModelConfig, name string) int64 {
	n, _ := requirement.Count(cfg, name)
	return n
}
