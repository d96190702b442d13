package model

import (
	"path/filepath"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/plugin"
)

const (
	// strategyPath is the parameter that names the library of custom batching functions.
	strategyPath = "TRITON_BATCH_STRATEGY_PATH"
	// strategyFile is the library's name where the parameter is not set.
	strategyFile = "batchstrategy.so"
)

// openStrategy opens the library of custom batching functions of a model; nil if it has none. The
// order of the places and the texts are Triton's.
func (b *Builder) openStrategy(c *modelconfig.Config, spec backend.Spec, folder string) (*plugin.Strategy, error) {
	path := c.GetParameters()[strategyPath].GetStringValue()
	switch {
	case c.GetSequenceBatching() != nil && path != "":
		return nil, status.New(status.InvalidArg, "%s cannot be specified with sequence batcher, using default batching strategy", strategyPath)
	case c.GetSequenceBatching() != nil:
		return nil, nil
	case path != "":
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		if rel, err := filepath.Rel(folder, path); err != nil || !filepath.IsLocal(rel) {
			return nil, status.New(status.InvalidArg, "Batching library path escapes model repository.")
		}
		if !exists(path) {
			return nil, status.New(status.NotFound, "Batching library path not found: %s", path)
		}
	default:
		for _, dir := range []string{spec.Dir, folder, filepath.Join(b.opts.BackendDirectory, c.GetBackend())} {
			if p := filepath.Join(dir, strategyFile); exists(p) {
				path = p
				break
			}
		}
	}
	if path == "" || c.GetDynamicBatching() == nil || c.GetMaxBatchSize() == 0 {
		return nil, nil
	}
	return plugin.OpenStrategy(path, spec)
}

// closeStrategy ends the custom batching functions. The scheduler does not run any more.
func (v *LoadedVersion) closeStrategy() {
	if v.strategy != nil {
		v.strategy.Close()
		v.strategy = nil
	}
}
