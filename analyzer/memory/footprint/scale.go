package footprint

// steps are the counts below 100 that noise leaves of a prediction, with those times 10, 100 and so on
// above it. Each is 20 to 33 % more than the one before it, from 4 on. A finer scale would show the
// noise: another analysis would find another count. A scale that depends on the noise of one analysis
// would too.
var steps = []int{1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80}

// onScale returns the largest count of the scale that is not above n.
func onScale(n int) int {
	unit := 1
	for n/100 >= unit { // 100*unit may overflow
		unit *= 10
	}
	best := 0
	for _, s := range steps {
		if s*unit <= n {
			best = s * unit
		}
	}
	return best
}

// exact is the uncertainty, in instances, up to which a predicted count is not rounded: readings of
// devices have no noise.
const exact = 0.5

// likely returns the count that a law gives without its safety, and whether its noise is worth
// instances. The middle of the interval weighs the counts that are farthest apart most.
func (l Limit) likely() (count float64, noisy bool) {
	if l.Law == nil || !l.Costs || l.Law.PerInstance.Value <= 0 {
		return 0, false
	}
	each := l.Law.PerInstance
	middle := (each.Low + each.High) / 2
	if middle <= 0 {
		middle = each.Value
	}
	count = (l.Bytes() - l.Law.Base.Value) / min(each.Value, middle)
	return count, count*(each.High-each.Low)/each.Value > 2*exact
}

// straddles reports whether a place that holds no more than a count has the safe and the likely count
// on different steps of the scale.
func (r *run) straddles(count int) bool {
	for _, l := range r.result.Limits {
		if likely, noisy := l.likely(); noisy && l.Instances <= count && onScale(int(likely)) != onScale(l.Instances) {
			return true
		}
	}
	return false
}

// scale rounds predicted counts down to the scale where there is noise. Without a law the noise is not
// known, so that only what was run counts.
func (r *run) scale(fits int) {
	for i := range r.result.Limits {
		l := &r.result.Limits[i]
		if l.Law == nil && l.Costs {
			l.Instances = min(l.Instances, fits)
		}
		if _, noisy := l.likely(); noisy {
			l.Instances = max(onScale(l.Instances), min(l.Instances, fits))
		}
	}
}
