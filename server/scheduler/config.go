package scheduler

import "triton/pkg/inferencepb"

// Ignored lists the scheduling settings that a configuration makes and that
// this server accepts without honoring them yet, as paths into the
// configuration.
func Ignored(cfg *inferencepb.ModelConfig) []string {
	var paths []string
	add := func(set bool, path string) {
		if set {
			paths = append(paths, path)
		}
	}
	for _, g := range cfg.GetInstanceGroup() {
		if g.GetRateLimiter() != nil {
			add(true, "instance_group.rate_limiter")
			break
		}
	}
	add(len(cfg.GetModelWarmup()) != 0, "model_warmup")
	return paths
}
