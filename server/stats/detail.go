package stats

import (
	"log/slog"

	"triton/pkg/inferencepb"
)

// Options say which metrics of model versions are kept beside the counters.
type Options struct {
	// Settings are the --metrics-config pairs.
	Settings map[string]string
	// GPUs are the UUIDs of the GPUs whose instances have series of their own,
	// by device index.
	GPUs map[int]string
	// Log is told of settings that make no sense; nil is nobody.
	Log *slog.Logger
}

// New makes the counters of a version, and the distributions that the options
// and the model's own metric settings ask for.
func New(c *inferencepb.ModelConfig, version string, o Options) *Model {
	m := NewModel(c.GetName(), version, int(c.GetMaxBatchSize()))
	m.opts = parse(o, c)
	m.samples = m.opts.samples()
	m.cache = m.opts.cacheSamples()
	if m.opts.histograms {
		m.first = newHistogram(m.opts.bounds(firstResponse))
	}
	return m
}

// Sample is the durations of one successful request, in nanoseconds.
type Sample struct{ Total, Queue, Input, Infer, Output int64 }

// FirstResponse counts the time from a request's arrival to its first response,
// in nanoseconds.
func (m *Model) FirstResponse(ns int64) {
	if m.first != nil {
		m.first.observe(ns / 1e6)
	}
}
