package lint

import (
	"fmt"
	"slices"

	pb "triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
)

const longDelayMicros = 1_000_000

// hasQueuePolicy reports whether a dynamic batcher does more than to join requests.
func hasQueuePolicy(d *pb.ModelDynamicBatching) bool {
	return d.GetPriorityLevels() > 0 || d.GetDefaultQueuePolicy() != nil || d.GetPreserveOrdering()
}

// batching checks for settings that load but do not batch as intended.
func (r *run) batching() {
	if r.isEnsemble() {
		return
	}
	d, requested := r.config.GetDynamicBatching(), r.written.GetDynamicBatching() != nil
	limit := r.config.MaxBatchSize
	switch {
	case requested && hasQueuePolicy(r.written.GetDynamicBatching()): // it is obeyed without batches too
	case requested && limit == 0:
		r.add(ruleNeverBatches, "dynamic_batching", "dynamic_batching has no effect: max_batch_size is 0", "set max_batch_size")
	case requested && limit == 1:
		r.add(ruleNeverBatches, "max_batch_size", "dynamic_batching has no effect: max_batch_size is 1", "raise max_batch_size")
	case d == nil && r.config.GetSequenceBatching() == nil && limit > 1 && !r.weightless: // the model file may add it
		r.add(ruleUnusedBatch, "max_batch_size", fmt.Sprintf(
			"max_batch_size is %d, but without dynamic_batching requests are not joined into batches", limit), "add dynamic_batching { }")
	case limit == 0 && r.graph != nil && onnxmodel.Batches(r.graph):
		r.add(ruleCouldBatch, "input", "the first dimension of the graph is variable, but max_batch_size is 0",
			"set max_batch_size and take the first -1 out of dims")
	}
	if !requested {
		return
	}
	written := r.written.GetDynamicBatching()
	const preferred = "dynamic_batching.preferred_batch_size"
	if len(written.PreferredBatchSize) > 0 && written.MaxQueueDelayMicroseconds == 0 {
		r.add(ruleNoDelay, preferred, "without max_queue_delay_microseconds no request waits for a preferred size",
			"set a delay, such as max_queue_delay_microseconds: 1000")
	}
	if !slices.IsSorted(written.PreferredBatchSize) || len(slices.Compact(slices.Clone(written.PreferredBatchSize))) < len(written.PreferredBatchSize) {
		r.add(rulePreferredSort, preferred, "preferred batch sizes are repeated or not in rising order", "sort them")
	}
	if written.MaxQueueDelayMicroseconds > longDelayMicros {
		r.add(ruleLongDelay, "dynamic_batching.max_queue_delay_microseconds", fmt.Sprintf(
			"a request may wait %.1f s for others", float64(written.MaxQueueDelayMicroseconds)/1e6), "the unit is microseconds")
	}
	if written.PriorityLevels == 0 && len(written.PriorityQueuePolicy) > 0 {
		r.add(ruleNoLevels, "dynamic_batching.priority_queue_policy", "priority_queue_policy has no effect: priority_levels is 0",
			"set priority_levels and default_priority_level")
	}
}
