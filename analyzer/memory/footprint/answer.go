package footprint

import (
	"slices"
)

// unsure is the share of the readings by which they may be off the line.
const unsure = 0.10

// answer decides how many instances to serve.
func (r *run) answer() {
	a := &r.result.Answer
	fits, fails := r.edge()
	if fails != fits+1 {
		r.scale(fits)
	}
	a.Memory, a.MemoryLimits = r.memoryCount()
	a.MemoryStatus = Predicted
	if a.MemoryLimits {
		r.bound(a, fits, fails)
	}
	r.chooseUseful(a)
	r.doubts()
	a.Doubts = r.Doubts
	switch {
	case len(r.result.Anchors) == 0:
		a.Status = Uncertain
		return
	case fits == 0:
		a.Status = Unfit
		if !r.failedForMemory() && !r.short() {
			a.Status = Uncertain
		}
		return
	case a.UsefulKnown && (!a.MemoryLimits || a.Useful <= a.Memory):
		a.Instances, a.Status = a.Useful, ThroughputLimited
	case a.MemoryLimits && (a.UsefulKnown || r.MinGain <= 0 || a.MemoryStatus == Verified || a.Memory <= a.Useful):
		a.Instances, a.Status = a.Memory, a.MemoryStatus
	default: // the measured counts are all of use, and more may be
		a.Instances, a.Status = min(a.Useful, fits), Predicted
	}
	if r.MaxInstances > 0 && a.Instances >= r.MaxInstances {
		a.Instances, a.Status = r.MaxInstances, Capped
	}
	if k := a.Choice.Contested; k > 0 && a.Status == ThroughputLimited {
		r.doubt("%d instances may be better than %d: the difference is not larger than what servers with the same count differ by", k, a.Useful)
		a.Doubts = r.Doubts
	}
	a.Run = slices.ContainsFunc(r.result.Anchors, func(n Anchor) bool { return n.Instances == a.Instances && r.fits(n) })
	if len(a.Doubts) > 0 {
		a.Status = Uncertain
	}
}

// chooseUseful takes over how many instances are of use.
func (r *run) chooseUseful(a *Answer) {
	a.Useful, a.UsefulKnown = r.useful()
	if r.MinGain <= 0 {
		return
	}
	a.Choice = r.choose()
	if a.Processors = r.processors(); a.Processors > 0 {
		for _, s := range r.completed() {
			if s.Instances == a.Useful {
				a.Busy = max(a.Busy, s.Work.Busy)
			}
		}
	}
}

// bound makes the number of instances that fit agree with those that were run.
func (r *run) bound(a *Answer, fits, fails int) {
	switch {
	case fails > 0 && fits+1 == fails:
		a.Memory, a.MemoryStatus = fits, Verified
	case fails > 0:
		a.Memory = min(a.Memory, fails-1)
		if !r.Verify {
			break
		}
		a.Memory = min(a.Memory, max(fits, 1))
	case a.Memory < fits:
		a.Memory = fits
	}
	if a.Memory == 0 {
		a.MemoryStatus = Unfit
	}
}

// doubts collects why the answer may be wrong.
func (r *run) doubts() {
	for _, l := range r.result.Limits {
		if l.Room.Foreign != "" {
			r.doubt("%s is shared with %s", l.Place, l.Room.Foreign)
		}
		if l.Law != nil && l.Costs && l.Law.Residual > unsure*l.Law.PerInstance.Value && r.result.Answer.MemoryStatus == Predicted && l.Law.SuperLinear && r.memoryMatters() {
			r.doubt("instances of the larger counts took more memory at %s than the first ones", l.Place)
		}
	}
	for _, a := range r.completed() {
		for _, place := range a.Growing {
			r.doubt("the memory of %s did not stop growing under load: a leak, or a cache without a limit", place)
		}
		if a.Proof == NoProof {
			r.doubt("it was not shown that every instance executed")
		}
	}
}

// failedForMemory reports whether a server failed for lack of memory.
func (r *run) failedForMemory() bool {
	return slices.ContainsFunc(r.result.Anchors, func(a Anchor) bool { return a.Failure != nil && a.Failure.Class.Memory() })
}

// short reports whether a place has not enough memory for one instance.
func (r *run) short() bool {
	return slices.ContainsFunc(r.result.Limits, func(l Limit) bool { return l.Shortfall > 0 })
}
