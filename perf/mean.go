package perf

// MeanOf returns the mean of the figures of repeats, at least one, with its interval.
func MeanOf(values []float64) Mean { return meanOf(values) }
