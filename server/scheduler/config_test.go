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
		MaxQueueDelayMicroseconds: 100, PreferredBatchSize: []int32{4}, PreserveOrdering: true, PriorityLevels: 2,
	}}}
	require.Empty(t, scheduler.Ignored(cfg))

	cfg.InstanceGroup = []*inferencepb.ModelInstanceGroup{{}, {RateLimiter: &inferencepb.ModelRateLimiter{}}, {RateLimiter: &inferencepb.ModelRateLimiter{}}}
	cfg.ModelWarmup = []*inferencepb.ModelWarmup{{}}
	require.Equal(t, []string{
		"instance_group.rate_limiter",
		"model_warmup",
	}, scheduler.Ignored(cfg))
}
