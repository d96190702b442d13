package footprint

import (
	"context"
	"math"
	"slices"
)

// findUseful measures more counts until one more instance is of no use: first twice as many each
// time, then between the last useful and the first useless count.
func (r *run) findUseful(ctx context.Context) error {
	if r.MinGain <= 0 {
		return nil // every instance is of use
	}
	// Even with perfect scaling, instances beyond this count gain less.
	largest := int(math.Ceil(1/r.MinGain)) + 1
	for {
		useful, next := r.usefulBetween()
		k := 0
		switch {
		case useful == 0:
			return nil
		case next == 0:
			k = min(2*useful, largest)
			if r.MaxInstances > 0 {
				k = min(k, r.MaxInstances)
			}
		case next > useful+1:
			k = useful + (next-useful)/2
		default:
			enough, below := r.fewest(useful)
			if k = below + (enough-below)/2; k == below {
				return nil
			}
		}
		if slices.Contains(r.levels(), k) || r.failedAt(k) || !r.mayRun(k) || !r.mayFit(k) {
			return nil
		}
		a, err := r.add(ctx, k, "is one more instance of use?", r.last())
		if err != nil || a.Failure != nil {
			return stopped(err)
		}
	}
}

// usefulBetween returns the largest measured count up to which each instance was of use, and the
// next measured one, up to which an instance was of no use; 0 if there is none.
func (r *run) usefulBetween() (useful, next int) {
	levels := r.levels()
	if r.MinGain <= 0 && len(levels) > 0 {
		return levels[len(levels)-1], 0 // every instance is of use
	}
	for i, k := range levels {
		useful = k
		if i+1 == len(levels) {
			return useful, 0
		}
		if gain, noise := r.gain(k, levels[i+1]); gain < r.MinGain || gain <= noise {
			return useful, levels[i+1]
		}
	}
	return useful, 0
}

// fewest returns the smallest measured count from which on all further instances up to useful
// together raised the throughput by less than the smallest gain, and the next smaller measured count.
// Between counts that are far apart some instances may have been of use and others not.
func (r *run) fewest(useful int) (enough, below int) {
	top, _ := r.throughput(useful)
	for _, k := range r.levels() {
		if t, _ := r.throughput(k); t*(1+r.MinGain) >= top || k == useful {
			return k, below
		}
		below = k
	}
	return useful, below
}

// gain returns by which share each instance from one count to another raised the throughput, and
// how much of it may be noise.
func (r *run) gain(from, to int) (gain, noise float64) {
	a, spreadA := r.throughput(from)
	b, spreadB := r.throughput(to)
	switch {
	case b <= 0: // nothing was measured, or nothing within the user's limits
		return 0, 0
	case a <= 0:
		return 1, 0
	}
	steps := float64(to - from)
	return math.Pow(b/a, 1/steps) - 1, max(math.Hypot(spreadA, spreadB), r.repeatSpread()) / steps
}

// repeatSpread returns the largest relative difference of two servers with the same count.
func (r *run) repeatSpread() float64 {
	worst := 0.0
	for _, k := range r.levels() {
		if all := r.throughputs(k); len(all) > 1 {
			worst = max(worst, all[len(all)-1]/all[0]-1)
		}
	}
	return worst
}

// throughput returns the median of the servers with a count, and its relative spread.
func (r *run) throughput(instances int) (value, spread float64) {
	all := r.throughputs(instances)
	if len(all) == 0 {
		return 0, 0
	}
	for _, a := range r.completed() {
		if a.Instances == instances {
			spread = max(spread, a.Work.Spread)
		}
	}
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2, spread
}

// throughputs returns those of the servers with a count in rising order.
func (r *run) throughputs(instances int) []float64 {
	var all []float64
	for _, a := range r.completed() {
		if a.Instances == instances && a.Work.Throughput > 0 {
			all = append(all, a.Work.Throughput)
		}
	}
	slices.Sort(all)
	return all
}
