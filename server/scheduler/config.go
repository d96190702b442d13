package scheduler

import "triton/pkg/inferencepb"

// Limit is how many requests the configuration lets wait; 0 is no limit.
func Limit(cfg *inferencepb.ModelConfig) int {
	return int(cfg.GetDynamicBatching().GetDefaultQueuePolicy().GetMaxQueueSize())
}

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
	d := cfg.GetDynamicBatching()
	add(d.GetPreserveOrdering(), "dynamic_batching.preserve_ordering")
	add(d.GetPriorityLevels() != 0, "dynamic_batching.priority_levels")
	add(d.GetDefaultPriorityLevel() != 0, "dynamic_batching.default_priority_level")
	p := d.GetDefaultQueuePolicy()
	add(p.GetTimeoutAction() != 0, "dynamic_batching.default_queue_policy.timeout_action")
	add(p.GetDefaultTimeoutMicroseconds() != 0, "dynamic_batching.default_queue_policy.default_timeout_microseconds")
	add(p.GetAllowTimeoutOverride(), "dynamic_batching.default_queue_policy.allow_timeout_override")
	add(len(d.GetPriorityQueuePolicy()) != 0, "dynamic_batching.priority_queue_policy")
	add(cfg.GetResponseCache().GetEnable(), "response_cache")
	for _, g := range cfg.GetInstanceGroup() {
		if g.GetRateLimiter() != nil {
			add(true, "instance_group.rate_limiter")
			break
		}
	}
	add(len(cfg.GetModelWarmup()) != 0, "model_warmup")
	return paths
}
