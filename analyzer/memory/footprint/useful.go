package footprint

import (
	"context"
	"math"
	"slices"
	"time"
)

// findUseful measures servers until Choose asks for no more of them.
func (r *run) findUseful(ctx context.Context) error {
	if r.MinGain <= 0 {
		return nil // every instance is of use
	}
	for {
		k := r.choose().Next
		switch {
		case k == 0:
			return nil
		case slices.ContainsFunc(r.completed(), func(a Anchor) bool { return a.Instances == k && r.fits(a) }): // it may run again
		case r.Quick && !r.quickMay(k) || r.failedAt(k) || !r.mayRun(k) || !r.mayFit(k):
			if levels := r.levels(); k > levels[len(levels)-1] {
				r.largest = levels[len(levels)-1]
				continue
			}
			return nil
		}
		a, err := r.add(ctx, k, r.choose().Why, r.last())
		if err != nil || a.Failure != nil {
			return stopped(err)
		}
	}
}

// Quick tries no larger count after quickClimb, nor unless the one before lost quickLoss: each count more is one more
// chance of a mistake.
const (
	quickClimb = 30 * time.Second
	quickLoss  = 0.3
)

// quickMay reports whether Quick measures a new count: a larger one than all before that needs no proof, if the gain so
// far was large, while there is time.
func (r *run) quickMay(count int) bool {
	levels, processors := r.levels(), r.processors()
	return count > levels[len(levels)-1] && (processors == 0 || count <= processors) &&
		r.choose().Fewer.Value <= -quickLoss && time.Since(r.started) < quickClimb
}

// choose decides about the servers so far that memory holds.
func (r *run) choose() Choice {
	var all []Throughput
	for _, a := range r.completed() {
		if !r.fits(a) {
			continue
		}
		t := Throughput{Instances: a.Instances, Value: a.Work.Throughput}
		if a.Work.Throughput > 0 {
			t.Error = (a.Work.High - a.Work.Low) / (2 * 1.96) / a.Work.Throughput
		}
		all = append(all, t)
	}
	rule := Rule{MinGain: r.MinGain, Processors: r.processors(), Most: math.MaxInt, Repeats: r.Repeats}
	for _, bound := range []int{r.MaxInstances, r.largest} {
		if bound > 0 {
			rule.Most = min(rule.Most, bound)
		}
	}
	return Choose(all, rule)
}

// busyShare is the share of the processors that a server takes if its model computes on them. The load, and whatever
// else runs on the machine, takes the rest.
const busyShare = 1.0 / 3

// processors returns those of the machine if the instances keep them busy, and 0 otherwise. The server with the
// most instances that have a processor each shows it.
func (r *run) processors() int {
	count, busy := 0, 0.0
	for _, a := range r.completed() {
		if a.Instances <= r.Processors && a.Instances >= count {
			count, busy = a.Instances, max(a.Work.Busy, busy)
		}
	}
	if busy < busyShare*float64(r.Processors) {
		return 0
	}
	return r.Processors
}

// useful returns how many instances are of use; known is false if the measured counts do not show the end.
func (r *run) useful() (count int, known bool) {
	levels := r.levels()
	if r.MinGain <= 0 && len(levels) > 0 {
		return levels[len(levels)-1], false
	}
	c := r.choose()
	if c.Instances == 0 && len(levels) > 0 {
		return levels[0], true // nothing is within the user's limits, and more instances change nothing about it
	}
	return c.Instances, c.More.Instances > 0 || c.Instances > 0 && float64(c.Instances)*r.MinGain > 1
}

// memoryMatters reports whether memory may hold fewer instances than are of use.
func (r *run) memoryMatters() bool {
	if r.Quick {
		return false
	}
	count, known := r.useful()
	if r.MaxInstances > 0 && count >= r.MaxInstances && r.servers(count) > 0 && r.mayFit(count) {
		return false // the user's limit was run
	}
	return !known || !r.mayFit(count)
}
