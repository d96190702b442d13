package memory

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"triton/analyzer/memory/footprint"
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/pbtxt"
	"triton/pkg/ui"
)

// recommend chooses the configuration from the footprint's answer and the measured settings.
func (r *run) recommend() {
	a := r.result.Footprint.Answer
	switch {
	case a.Status == footprint.Unfit:
		r.result.Reason = "one instance does not fit in memory"
		return
	case a.Instances == 0:
		r.result.Reason = "no setting could be measured"
		return
	case a.Choice.Undecided() && a.Instances == a.Useful && r.fitsAsItIs(a):
		c := a.Choice
		r.result.Undecided, r.result.Reason = true, fmt.Sprintf(
			"servers with the same count differ by about %.0f %% in throughput (%s), so %d and %s cannot be told apart",
			100*c.Noise, ui.Plural(c.Repeats, "repeat"), min(c.Instances, c.Contested), ui.Plural(max(c.Instances, c.Contested), "instance"))
		return
	}
	best := r.best(a.Instances)
	if best == nil && r.LatencyBudget > 0 && r.measuredAny() {
		r.result.Reason = r.tooSlow()
		return
	}
	rec := &Recommendation{Instances: a.Instances, MaxBatchSize: int(r.shared.GetMaxBatchSize()), Point: best}
	config := r.configure(rec)
	text, err := r.write(config)
	if err != nil {
		r.warn("the comments of config.pbtxt are lost: %v", err)
		text = modelconfig.Encode(config)
	}
	rec.Config, rec.Diff = text, diffLines(string(r.model.text), string(text))
	r.result.Recommended, r.result.Reason = rec, r.why(a)
	if best != nil {
		r.result.Delay = r.findDelay(*best)
	}
	if best != nil && !best.Stable {
		r.warn("the measurement of the recommended setting was not stable; measure longer to be sure")
	}
}

// fitsAsItIs reports whether memory holds the instances of the user's own configuration.
func (r *run) fitsAsItIs(a footprint.Answer) bool {
	return !a.MemoryLimits || int(r.shared.GetInstanceGroup()[0].GetCount()) <= a.Memory
}

// best returns the setting with a number of instances that has the smallest batch, and then the
// fewest requests in flight, within the tolerance of the best throughput.
func (r *run) best(instances int) *Point {
	top := 0.0
	for _, p := range r.result.Points {
		if r.meets(p, instances) {
			top = max(top, p.Throughput)
		}
	}
	var chosen *Point
	for i, p := range r.result.Points {
		if r.meets(p, instances) && p.Throughput >= top*(1-r.Tolerance) && (chosen == nil || cheaper(p, *chosen)) {
			chosen = &r.result.Points[i]
		}
	}
	return chosen
}

func cheaper(a, b Point) bool {
	if a.Batch != b.Batch {
		return a.Batch < b.Batch
	}
	return a.Concurrency < b.Concurrency
}

func (r *run) meets(p Point, instances int) bool {
	return p.Instances == instances && r.meetsBudget(p)
}

func (r *run) measuredAny() bool {
	return slices.ContainsFunc(r.result.Points, func(p Point) bool { return p.Err == nil })
}

// tooSlow returns the reason when no setting meets the latency budget.
func (r *run) tooSlow() string {
	var lowest *Point
	for i, p := range r.result.Points {
		if p.Err == nil && (lowest == nil || p.P99 < lowest.P99) {
			lowest = &r.result.Points[i]
		}
	}
	return fmt.Sprintf("no setting meets the latency budget of %v; the lowest p99 measured is %v", r.LatencyBudget, lowest.P99)
}

// configure returns the user's configuration with the recommended values.
func (r *run) configure(rec *Recommendation) *inferencepb.ModelConfig {
	config := proto.Clone(r.shared).(*inferencepb.ModelConfig)
	config.InstanceGroup[0].Count = int32(rec.Instances)
	// Larger batches than the best one cost memory and latency for nothing, if all that the
	// configuration allows were tried.
	batches := r.Space.BatchSizes()
	if rec.Point != nil && len(batches) > 1 && batches[len(batches)-1] >= rec.MaxBatchSize {
		rec.MaxBatchSize = rec.Point.Batch
		config.MaxBatchSize = int32(rec.MaxBatchSize)
	}
	if preferred := config.GetDynamicBatching().GetPreferredBatchSize(); len(preferred) > 0 {
		kept := preferred[:0:0]
		for _, n := range preferred {
			if n <= config.GetMaxBatchSize() {
				kept = append(kept, n)
			}
		}
		config.GetDynamicBatching().PreferredBatchSize = kept
	}
	if config.GetSchedulingChoice() == nil && rec.Point != nil && rec.Point.Batch > 1 {
		config.SchedulingChoice = &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{}}
	}
	rec.DynamicBatching = config.GetDynamicBatching() != nil
	return config
}

// write returns the configuration as an edit of the user's text.
func (r *run) write(config *inferencepb.ModelConfig) ([]byte, error) {
	if r.model.text == nil {
		return modelconfig.Encode(config), nil
	}
	user, err := modelconfig.Parse("", r.model.text)
	if err != nil {
		return nil, err
	}
	if !user.Has("name") {
		config = proto.Clone(config).(*inferencepb.ModelConfig)
		config.Name = ""
	}
	return pbtxt.Apply(r.model.text, config)
}
