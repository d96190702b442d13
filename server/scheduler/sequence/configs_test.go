package sequence_test

import (
	"time"

	"triton/pkg/inferencepb"
)

// direct returns a configuration with the delay in milliseconds.
func direct(maxBatch int32, delay uint64, share float32) *inferencepb.ModelConfig {
	return configured(maxBatch, &inferencepb.ModelSequenceBatching{
		StrategyChoice: &inferencepb.ModelSequenceBatching_Direct{Direct: &inferencepb.ModelSequenceBatching_StrategyDirect{
			MaxQueueDelayMicroseconds: delay * 1000, MinimumSlotUtilization: share,
		}},
	})
}

func oldest(maxBatch, candidates int32, delay uint64, preferred ...int32) *inferencepb.ModelConfig {
	return configured(maxBatch, &inferencepb.ModelSequenceBatching{
		StrategyChoice: &inferencepb.ModelSequenceBatching_Oldest{Oldest: &inferencepb.ModelSequenceBatching_StrategyOldest{
			MaxCandidateSequences: candidates, PreferredBatchSize: preferred, MaxQueueDelayMicroseconds: delay * 1000,
		}},
	})
}

func configured(maxBatch int32, c *inferencepb.ModelSequenceBatching) *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{
		MaxBatchSize:     maxBatch,
		Input:            []*inferencepb.ModelInput{{Name: "IN", DataType: inferencepb.DataType_TYPE_UINT8, Dims: []int64{-1}}},
		SchedulingChoice: &inferencepb.ModelConfig_SequenceBatching{SequenceBatching: c},
	}
}

// held keeps everything until that many requests are in slots and in the
// backlog.
func held(slots, backlog int) func(*harness) {
	return func(s *harness) { s.opts.HoldSlots, s.opts.HoldBacklog = slots, backlog }
}

func taking(d time.Duration) func(*harness) { return func(s *harness) { s.exec = d } }
