package stats

import (
	"log/slog"

	"triton/pkg/inferencepb"
)

// Options choose which metrics of model versions are collected in addition to the counters.
type Options struct {
	// Settings are the --metrics-config pairs.
	Settings map[string]string
	// GPUs holds, by device index, the UUIDs of the GPUs whose instances have
	// series of their own.
	GPUs map[int]string
	// Log receives warnings about invalid settings. It may be nil.
	Log *slog.Logger
}

// New returns the counters of a version, with the distributions that the options and the
// model's configuration enable.
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

// Sample holds the durations of one successful request, in nanoseconds.
type Sample struct{ Total, Queue, Input, Infer, Output int64 }

// FirstResponse counts the time from a request's arrival to its first response, in
// nanoseconds.
func (m *Model) FirstResponse(ns int64) {
	if m.first != nil {
		m.first.observe(ns / 1e6)
	}
}
