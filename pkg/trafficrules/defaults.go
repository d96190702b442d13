package trafficrules

import "time"

// CanarySteps returns the shares of a canary in percent.
func (c *Canary) CanarySteps() []float64 {
	if len(c.Steps) == 0 {
		return []float64{1, 5, 25, 50, 100}
	}
	return c.Steps
}

// StepTime returns the minimum time of a step.
func (c *Canary) StepTime() time.Duration { return seconds(c.StepSeconds, 300) }

// Samples returns the minimum number of requests to each target in a step.
func (c *Canary) Samples() int64 { return int64(orElse(c.MinSamples, 1000)) }

// Alpha returns the significance level of a step.
func (c *Canary) Alpha() float64 { return orElse(c.Significance, 0.01) }

// ErrorIncrease returns how much larger the share of failed requests may be.
func (c *Canary) ErrorIncrease() float64 {
	if c.MaxErrorIncrease == nil {
		return 0.001
	}
	return *c.MaxErrorIncrease
}

// P99Ratio returns how many times longer the 99th percentile may be.
func (c *Canary) P99Ratio() float64 { return orElse(c.MaxP99Ratio, 1.2) }

// Pending returns the maximum number of copies that wait or run.
func (s *Shadow) Pending() int { return orElse(s.MaxPending, 64) }

// Bytes returns the maximum size of the copies that wait or run.
func (s *Shadow) Bytes() int64 { return orElse(s.MaxBytes, 64<<20) }

// Timeout returns the maximum time of a copied request.
func (s *Shadow) Timeout() time.Duration { return seconds(s.TimeoutSeconds, 30) }

// KeptDiffs returns the number of sampled differences that are kept.
func (s *Shadow) KeptDiffs() int {
	if s.Diffs == nil {
		return 16
	}
	return *s.Diffs
}

// tolerances are those of data types that a document does not mention: a few units in the last
// place after a chain of operations in another order.
var tolerances = map[string]Tolerance{
	"FP64": {RTol: 1e-9, ATol: 1e-12},
	"FP32": {RTol: 1e-4, ATol: 1e-6},
	"FP16": {RTol: 1e-2, ATol: 1e-4},
	"BF16": {RTol: 4e-2, ATol: 1e-3},
}

// Tolerance returns the accepted difference of a data type. It reports false for types that are
// compared exactly.
func (s *Shadow) Tolerance(dataType string) (Tolerance, bool) {
	t, ok := tolerances[dataType]
	if own, set := s.Tolerances[dataType]; ok && set {
		t = own
	}
	return t, ok
}

func seconds(n, initial float64) time.Duration {
	return time.Duration(orElse(n, initial) * float64(time.Second))
}

func orElse[T int | int64 | float64](v, initial T) T {
	if v == 0 {
		return initial
	}
	return v
}
