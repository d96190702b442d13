package simulate

import (
	"time"

	"triton/analyzer/capacity"
	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

// Predictor returns the forecast for a search that a cost curve gives, over the server's own
// queue: rows per second, and the 99th percentile of the latency in milliseconds. The files are
// those of the option, in the forms of --curve; base is the configuration of the model.
func Predictor(option string, files []string, model string, base *inferencepb.ModelConfig, devices int, overhead time.Duration) (func(trial.Proposal) (throughput, p99ms float64, ok bool), error) {
	curve, err := readCurve(option, files, model)
	if err != nil {
		return nil, err
	}
	return capacity.Predictor(capacity.Planner{Queue: queue{}, Curve: curve, Overhead: overhead}, base, devices), nil
}
