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

	d := cfg.GetDynamicBatching()
	d.PreserveOrdering = true
	cfg.ResponseCache = &inferencepb.ModelResponseCache{Enable: true}
	cfg.InstanceGroup = []*inferencepb.ModelInstanceGroup{{}, {RateLimiter: &inferencepb.ModelRateLimiter{}}, {RateLimiter: &inferencepb.ModelRateLimiter{}}}
	cfg.ModelWarmup = []*inferencepb.ModelWarmup{{}}
	require.Equal(t, []string{
		"dynamic_batching.preserve_ordering",
		"response_cache",
		"instance_group.rate_limiter",
		"model_warmup",
	}, scheduler.Ignored(cfg))
}
