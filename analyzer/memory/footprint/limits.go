package footprint

import (
	"maps"
	"math"
	"slices"
	"sort"
)

// most bounds the counts that are looked at.
const most = 1 << 20

// limits computes what each place says about the number of instances.
func (r *run) limits() {
	r.result.Limits = nil
	for _, place := range slices.Sorted(maps.Keys(r.room)) {
		room := r.room[place]
		l := Limit{Place: place, Room: room, Headroom: r.Headroom(room.bound()), Queued: r.queued(place)}
		var points []LawPoint
		for _, a := range r.completed() {
			if bytes, ok := a.Peak[place]; ok {
				points = append(points, LawPoint{Instances: a.Instances, Bytes: float64(bytes)})
			}
		}
		if len(points) == 0 {
			continue // the model has no memory there
		}
		if fit, err := FitLaw(points); err == nil {
			l.Law = &fit
			l.Costs = fit.Costs(float64(r.Floor)) || r.noisy(l)
		} else {
			// Too few counts fit, or were measured: the steepest line must do.
			l.Costs = r.upper(l, most)-r.upper(l, most-1) >= float64(r.Floor)
		}
		if l.Costs {
			l.Instances = sort.Search(most, func(k int) bool { return r.upper(l, k+1) > l.Bytes() })
		}
		l.Shortfall = shortfall(points, l)
		r.result.Limits = append(r.result.Limits, l)
	}
}

// queued returns what the user's settings took beyond the stress, if it is more than noise.
func (r *run) queued(place Place) uint64 {
	var most uint64
	for _, a := range r.completed() {
		most = max(most, a.Worked[place]-min(a.Worked[place], a.Peak[place]))
	}
	if most < kept {
		return 0
	}
	return most
}

// plenty is a count that no model needs.
const plenty = 1024

// noisy reports that the readings vary so much that an instance may cost enough to matter. Then the
// upper end of the interval counts.
func (r *run) noisy(l Limit) bool {
	high := l.Law.PerInstance.High
	return high > 2*float64(r.Floor) && l.Bytes() < plenty*high
}

// shortfall returns what is missing for the smallest measured count.
func shortfall(points []LawPoint, l Limit) uint64 {
	least := slices.MinFunc(points, func(a, b LawPoint) int { return a.Instances - b.Instances })
	return uint64(max(0, least.Bytes-l.Bytes()))
}

// upper returns a bound of the memory at a place with a number of instances, from whatever is known.
func (r *run) upper(l Limit, instances int) float64 {
	if l.Law != nil {
		return l.Law.Upper(instances)
	}
	// Without a law: from the measured server with the most instances on, each further one
	// takes as much as those took on average. The first ones also paid for what all share.
	base, known, bound := r.smallestBase(l.Place), 0, 0.0
	for _, a := range r.completed() {
		bytes := float64(a.Peak[l.Place])
		each := max(0, bytes-base) / float64(a.Instances)
		if at := bytes + each*float64(max(0, instances-a.Instances)); a.Instances > known || a.Instances == known && at > bound {
			known, bound = a.Instances, at
		}
	}
	return bound
}

// smallestBase returns the memory of a server without models. One that has loaded the model cannot have
// less, so a smaller reading of it shows that the server without models was read too high: with that
// base, instances would look cheaper than they are.
func (r *run) smallestBase(place Place) float64 {
	base := r.result.Base[place]
	for _, a := range r.completed() {
		if loaded, ok := a.Loaded[place]; ok {
			base = min(base, loaded)
		}
	}
	return float64(base)
}

// mayRun reports whether a server with a number of instances endangers nothing: on the host it
// must leave half of the headroom to all others. A full GPU only fails the server.
func (r *run) mayRun(instances int) bool {
	for _, l := range r.result.Limits {
		if !l.Room.Shared {
			continue
		}
		bound := float64(l.Room.Usable) - float64(r.Headroom(l.Room.Usable))/2
		if r.upper(l, instances) > bound {
			return false
		}
	}
	return true
}

// mayFit reports whether a number of instances is predicted to fit at all places.
func (r *run) mayFit(instances int) bool {
	return !slices.ContainsFunc(r.result.Limits, func(l Limit) bool { return r.upper(l, instances) > l.Bytes() })
}

// fits reports whether an anchor kept all limits, with the noise of its reading.
func (r *run) fits(a Anchor) bool {
	if a.Failure != nil {
		return false
	}
	for _, l := range r.result.Limits {
		noise := 0.0
		if l.Law != nil {
			noise = l.Law.Noise
		}
		if float64(a.Peak[l.Place])+noiseGuard*noise > l.Bytes() {
			return false
		}
	}
	return true
}

// noiseGuard is how many standard deviations a reading may be below the truth.
const noiseGuard = 3

// memoryCount returns how many instances all places are predicted to hold; false if memory is not
// what limits.
func (r *run) memoryCount() (int, bool) {
	least, limited := math.MaxInt, false
	for _, l := range r.result.Limits {
		switch {
		case l.Costs:
			least, limited = min(least, l.Instances), true
		case l.Shortfall > 0:
			least, limited = 0, true
		}
	}
	return least, limited
}
