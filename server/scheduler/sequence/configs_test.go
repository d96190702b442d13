package sequence_test

import (
	"time"

	"triton/pkg/inferencepb"
)

// direct is a configuration, with the delay in milliseconds.
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
func held(slots, backlog int) func(*stage) {
	return func(s *stage) { s.opts.Hold, s.opts.Backlog = slots, backlog }
}

func taking(d time.Duration) func(*stage) { return func(s *stage) { s.exec = d } }
