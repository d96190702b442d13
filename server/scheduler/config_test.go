package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/scheduler"
)

func TestIgnored(t *testing.T) {
	t.Parallel()
	cfg := &inferencepb.ModelConfig{SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{
		MaxQueueDelayMicroseconds: 100, PreferredBatchSize: []int32{4},
		DefaultQueuePolicy: &inferencepb.ModelQueuePolicy{MaxQueueSize: 8},
	}}}
	require.Empty(t, scheduler.Ignored(cfg))
	require.Equal(t, 8, scheduler.Limit(cfg))

	d := cfg.GetDynamicBatching()
	d.PreserveOrdering, d.PriorityLevels, d.DefaultPriorityLevel = true, 2, 1
	d.PriorityQueuePolicy = map[uint64]*inferencepb.ModelQueuePolicy{1: {}}
	d.DefaultQueuePolicy.DefaultTimeoutMicroseconds, d.DefaultQueuePolicy.AllowTimeoutOverride = 5, true
	d.DefaultQueuePolicy.TimeoutAction = inferencepb.ModelQueuePolicy_DELAY
	cfg.ResponseCache = &inferencepb.ModelResponseCache{Enable: true}
	cfg.InstanceGroup = []*inferencepb.ModelInstanceGroup{{}, {RateLimiter: &inferencepb.ModelRateLimiter{}}, {RateLimiter: &inferencepb.ModelRateLimiter{}}}
	cfg.ModelWarmup = []*inferencepb.ModelWarmup{{}}
	require.Equal(t, []string{
		"dynamic_batching.preserve_ordering",
		"dynamic_batching.priority_levels",
		"dynamic_batching.default_priority_level",
		"dynamic_batching.default_queue_policy.timeout_action",
		"dynamic_batching.default_queue_policy.default_timeout_microseconds",
		"dynamic_batching.default_queue_policy.allow_timeout_override",
		"dynamic_batching.priority_queue_policy",
		"response_cache",
		"instance_group.rate_limiter",
		"model_warmup",
	}, scheduler.Ignored(cfg))
}
