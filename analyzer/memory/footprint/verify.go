package footprint

import (
	"context"
)

// verify runs the number of instances that memory is predicted to hold, and one more, where no
// other limit comes first. It climbs while more fit and halves the distance when one does not.
func (r *run) verify(ctx context.Context) error {
	memory, limited := r.memoryCount()
	if !r.Verify || !limited {
		return nil
	}
	if useful, known := r.useful(); known && useful < memory {
		return nil // already run, and more instances are of no use
	}
	return stopped(r.climb(ctx, memory))
}

// climb narrows the largest count that fits until the next one has been run too.
func (r *run) climb(ctx context.Context, k int) error {
	for step := 1; ; {
		fits, fails := r.edge()
		if fails == fits+1 || r.MaxInstances > 0 && fits >= r.MaxInstances {
			return nil
		}
		switch {
		case fails > 0 && (k <= fits || k >= fails):
			k = fits + max(1, (fails-fits)/2)
		case k <= fits:
			// The law of more points is narrower, so it may now predict more.
			memory, _ := r.memoryCount()
			k = max(fits+step, min(memory, 2*fits))
			step *= 2
			if fails > 0 {
				k = min(k, fails-1)
			}
		}
		if r.MaxInstances > 0 {
			k = min(k, r.MaxInstances)
		}
		if !r.mayRun(k) {
			if k = fits + 1; !r.mayRun(k) {
				return nil
			}
			step = 1
		}
		if _, err := r.add(ctx, k, "does it fit?", r.last()); err != nil {
			return err
		}
	}
}

// edge returns the largest count that was run and fits, and the smallest larger one that does not,
// 0 if there is none.
func (r *run) edge() (fits, fails int) {
	for _, a := range r.result.Anchors {
		if a.IsCurve() && a.Failure == nil {
			continue
		}
		if !r.fits(a) && (fails == 0 || a.Instances < fails) {
			fails = a.Instances
		}
	}
	for _, a := range r.result.Anchors {
		if r.fits(a) && (fails == 0 || a.Instances < fails) {
			fits = max(fits, a.Instances)
		}
	}
	return fits, fails
}
