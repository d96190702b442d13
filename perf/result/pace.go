package result

import (
	"fmt"
	"math"
	"slices"

	"triton/pkg/measure"
)

// machineMatters is how much of the change of a figure the pace of the machine may explain, as a multiple of the
// change of the pace: a server that waits more often, or needs more memory, changes more than the pace does.
const machineMatters = 1.5

// enoughPaces is how many measurements of the pace say something of that of a side.
const enoughPaces = 5

// paceDifference is the log of the pace of the machine during one side relative to that during another, with its
// standard error. Both are 0 if the pace is not known, or has not changed clearly.
type paceDifference struct{ change, err float64 }

// comparePaces compares the machine during b with that during a. It has one pace for all levels.
func comparePaces(a, b Side) paceDifference {
	pa, pb := paces(a), paces(b)
	if len(pa) < enoughPaces || len(pb) < enoughPaces {
		return paceDifference{}
	}
	ma, ea := medianWithError(pa)
	mb, eb := medianWithError(pb)
	d := paceDifference{mb - ma, math.Hypot(ea, eb)}
	if math.Abs(d.change) < clearPace*d.err {
		return paceDifference{}
	}
	return d
}

// clearPace is how many standard errors a change of the pace has to have before it counts. Smaller ones change
// figures by less than the threshold, and would cost the power to tell anything.
const clearPace = 1.5

// paces returns the logs of the paces of a side.
func paces(s Side) []float64 {
	var all []float64
	for _, r := range s.Runs {
		for i := range r.File.Levels {
			if p := r.File.Levels[i].Client.RoundTrips; p > 0 {
				all = append(all, math.Log(p))
			}
		}
	}
	return all
}

// paceAround returns the log of the pace of the machine around a level: the mean of the logs of what was measured before it and
// before the next one of the file. It is not a number if neither is known.
func paceAround(levels []Level, i int) float64 {
	sum, n := 0.0, 0.0
	for _, l := range levels[i:min(i+2, len(levels))] {
		if p := l.Client.RoundTrips; p > 0 {
			sum += math.Log(p)
			n++
		}
	}
	return sum / n
}

// medianWithError returns the median of values and its standard error, by the median distance from it: a tenth of
// the measurements of 0.1 s are far off, because a processor was away for a while.
func medianWithError(values []float64) (median, err float64) {
	const (
		ofNormal = 1.4826 // the standard deviation of a normal distribution, in median distances
		ofMedian = 1.2533 // the error of a median, in errors of the mean
	)
	median = measure.Median(values)
	distances := slices.Clone(values)
	for i, v := range distances {
		distances[i] = math.Abs(v - median)
	}
	return median, ofMedian * ofNormal * measure.Median(distances) / math.Sqrt(float64(len(values)))
}

// explains returns how much of the difference of the logs of a figure the machine may explain beyond what the slope took
// out of it.
func (p paceDifference) explains(l slope, figure string) float64 {
	if p.change == 0 {
		return 0
	}
	most := machineMatters * p.change
	if figure != Throughput {
		most = -most // a faster machine has shorter latencies
	}
	return most - l.value*(l.centerB-l.centerA)
}

// note says that the machine itself was faster or slower, if that is worth it.
func (p paceDifference) note() string {
	const worth = 0.02
	word := "faster"
	if p.change < 0 {
		word = "slower"
	}
	if math.Abs(p.change) < worth {
		return ""
	}
	return fmt.Sprintf("the machine itself was %.0f %% %s during B: differences that this may explain are undecided",
		100*math.Abs(math.Expm1(p.change)), word)
}
