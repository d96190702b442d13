package llm

import (
	"math"
	"slices"
)

// Percentiles are those of Statistics.
var Percentiles = [...]float64{1, 5, 10, 25, 50, 75, 90, 95, 99}

// Statistics describe values.
type Statistics struct {
	Mean, Min, Max float64
	StdDev         float64                   // of the population
	Percentile     [len(Percentiles)]float64 // by linear interpolation, numpy's default
}

// Of returns a percentile of Percentiles.
func (s *Statistics) Of(p float64) float64 {
	return s.Percentile[slices.Index(Percentiles[:], p)]
}

// statistics sorts values, at least one, and describes them.
func statistics(values []float64) Statistics {
	slices.Sort(values)
	s := Statistics{Min: values[0], Max: values[len(values)-1]}
	for _, v := range values {
		s.Mean += v
	}
	s.Mean /= float64(len(values))
	variance := 0.0
	for _, v := range values {
		variance += (v - s.Mean) * (v - s.Mean)
	}
	s.StdDev = math.Sqrt(variance / float64(len(values)))
	for i, p := range Percentiles {
		at := p / 100 * float64(len(values)-1)
		low := int(at)
		high := min(low+1, len(values)-1)
		s.Percentile[i] = values[low] + (values[high]-values[low])*(at-float64(low))
	}
	return s
}
