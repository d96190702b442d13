package footprint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// run is a running measurement.
type run struct {
	Config
	Deps
	room    map[Place]Room
	result  *Result
	started time.Time
	until   time.Time // when the budget ends
	// largest is the largest count to propose, where a larger one may not run; 0 is no bound.
	largest int
}

// Run measures a model. If the context ends or something fails, the result has what was found
// until then.
func Run(ctx context.Context, c Config, d Deps) (*Result, error) {
	if err := c.Validate(); err != nil {
		return &Result{}, err
	}
	if d.Observe == nil {
		d.Observe = func(Event) {}
	}
	r := &run{Config: c, Deps: d, result: &Result{}, started: time.Now()}
	if c.Budget > 0 {
		r.until = time.Now().Add(c.Budget)
	}
	err := r.measureAll(ctx)
	r.limits()
	r.answer()
	return r.result, err
}

func (r *run) measureAll(ctx context.Context) (err error) {
	if r.room, err = r.Subject.Room(ctx); err != nil {
		return err
	}
	if err := r.base(ctx); err != nil {
		return fmt.Errorf("measure a server without models: %w", err)
	}
	for _, step := range []func(context.Context) error{r.curve, r.counts, r.findUseful, r.findMemory} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	// The room is read again when the answer is given: neighbors may have come.
	now, err := r.Subject.Room(ctx)
	if err != nil {
		return err
	}
	r.lowerRoom(now)
	return nil
}

// lowerRoom takes over what has become less. That of the host always varies a little: it is a doubt
// only if it fell by more than 2 %, and only where the instances of use may not fit any more.
func (r *run) lowerRoom(now map[Place]Room) {
	var taken []Place
	for place, room := range now {
		before, known := r.room[place]
		if !known || room.bound() >= before.bound() {
			continue
		}
		tolerance := uint64(kept)
		if room.Shared {
			tolerance = max(tolerance, before.bound()/50)
		}
		if before.bound()-room.bound() > tolerance {
			taken = append(taken, place)
		} else if room.Shared {
			continue
		}
		r.room[place] = room
	}
	r.limits()
	if count, known := r.useful(); known && r.mayFit(count) {
		return
	}
	for _, place := range taken {
		r.doubt("others took memory of %s meanwhile", place)
	}
}

func (r *run) doubt(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.Doubts, text) {
		r.Doubts = append(slices.Clone(r.Doubts), text)
	}
}

// base reads the memory of a server without models.
func (r *run) base(ctx context.Context) error {
	r.Observe(Event{Why: "server without models"})
	server, err := r.Subject.Start(ctx, 0)
	if err != nil {
		return err
	}
	s := newSampler(ctx, r.Times.Sample, server.Memory)
	r.result.Base = maps.Clone(s.awaitSettled(ctx, r.Times.Settle))
	read := s.close()
	if ctx.Err() != nil {
		read = context.Cause(ctx)
	}
	return errors.Join(read, server.Close())
}

// errStop ends a step without being an error of the analysis.
var errStop = errors.New("no further server is started")

// add measures a server and keeps the anchor. It returns errStop if none may be started, and the
// error of the context if it ended.
func (r *run) add(ctx context.Context, instances int, why string, batches []int) (Anchor, error) {
	if !r.until.IsZero() && len(r.completed()) > 0 && time.Now().After(r.until) {
		r.doubt("the time budget ended")
		return Anchor{}, errStop
	}
	if len(r.result.Anchors) >= r.MaxRuns {
		r.doubt("%d servers were not enough to verify the answer", r.MaxRuns)
		return Anchor{}, errStop
	}
	r.Observe(Event{Instances: instances, Why: why, Result: r.result})
	a := r.measure(ctx, instances, why, batches)
	if ctx.Err() != nil {
		return a, context.Cause(ctx) // an interrupted server is no anchor
	}
	if err := r.returned(ctx); err != nil {
		return a, err
	}
	r.result.Anchors = append(r.result.Anchors, a)
	r.limits()
	r.Observe(Event{Instances: instances, Why: why, Done: &a, Result: r.result})
	return a, nil
}

const (
	// A device has its memory back when it lacks at most kept; drivers take a while.
	kept       = 32 << 20
	returnWait = 5 * time.Second
	returnPoll = 250 * time.Millisecond
)

// returned waits until the devices have back what the server had. The memory of the host is not
// looked at: the kernel moves it between uses all the time.
func (r *run) returned(ctx context.Context) error {
	for end := time.Now().Add(returnWait); ; {
		now, err := r.Subject.Room(ctx)
		if err != nil {
			return err
		}
		place, missing := r.missing(now)
		if missing == 0 {
			return nil
		}
		if !time.Now().Before(end) {
			r.doubt("memory of %s did not come back when a server had ended", place)
			r.lowerRoom(now)
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(returnPoll):
		}
	}
}

// missing returns a device that has less memory than before.
func (r *run) missing(now map[Place]Room) (Place, uint64) {
	for place, room := range now {
		before := r.room[place]
		if missing := before.Usable - min(before.Usable, room.Usable); !room.Shared && missing > kept {
			return place, missing
		}
	}
	return "", 0
}

// curve measures the memory by batch size with one instance. No decision needs it.
func (r *run) curve(ctx context.Context) error {
	if len(r.Batches) < 2 || r.Quick {
		return nil
	}
	_, err := r.add(ctx, r.Counts[0], "memory by batch size", r.Batches)
	return stopped(err)
}

// last is the largest batch, with which all points of the law are measured.
func (r *run) last() []int { return r.Batches[len(r.Batches)-1:] }

// counts measures the counts that were asked for, in rising order, until one fails.
func (r *run) counts(ctx context.Context) error {
	for _, k := range r.Counts {
		if len(r.completed()) > 0 && !r.mayRun(k) || r.failedAt(k) {
			break // it cannot fit, and running out of memory measures nothing
		}
		if a, err := r.add(ctx, k, "asked for", r.last()); err != nil || a.Failure != nil {
			if errors.Is(err, errStop) {
				return nil
			}
			return err
		}
	}
	return nil
}

// findMemory measures what tells how many instances memory holds, if that may be the limit: the noise of
// thousands of instances matters to no model that needs two.
func (r *run) findMemory(ctx context.Context) error {
	if !r.memoryMatters() {
		return nil
	}
	for _, step := range []func(context.Context) error{r.repeat, r.lever, r.verify, r.narrow} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// repeat adds servers until there are three counts, and the least and the largest of them twice:
// a law with fewer points always fits.
func (r *run) repeat(ctx context.Context) error {
	levels := r.levels()
	if len(levels) == 0 {
		return nil
	}
	for k := 1; len(levels) < 3; k++ {
		if slices.Contains(levels, k) {
			continue
		}
		if r.MaxInstances > 0 && k > max(4, r.MaxInstances) || !r.mayRun(k) || r.failedAt(k) {
			return nil
		}
		a, err := r.add(ctx, k, "to learn what an instance takes", r.last())
		if err != nil || a.Failure != nil {
			return stopped(err)
		}
		levels = r.levels()
	}
	for _, k := range []int{levels[0], levels[len(levels)-1]} {
		if r.servers(k) > 1 {
			continue
		}
		if a, err := r.add(ctx, k, "repeated for the noise", r.last()); err != nil || a.Failure != nil {
			return stopped(err)
		}
	}
	return nil
}

const (
	// far is how many times the largest measured count a prediction may be without one more server:
	// the farther the measured counts reach, the less noise there is in the prediction.
	far = 4
	// Predictions of more than veryFar times a further count are made from there. The factors are far
	// apart, so that noise hardly changes what is measured: the first instances of a model may take
	// more than later ones, which makes predictions from other counts differ.
	veryFar = 16
)

// lever measures a larger count if memory is predicted to hold many more, and one four times as large
// if it is predicted to hold very many more, and so on.
func (r *run) lever(ctx context.Context) error {
	for first := true; ; first = false {
		levels := r.levels()
		count, limited := r.memoryCount()
		if len(levels) < 3 || !limited {
			return nil
		}
		largest := levels[len(levels)-1]
		k, needed := 2*largest, far*largest
		if !first {
			k = onScale(4 * largest) // so that it is no count between two steps
			needed = veryFar * k
		}
		if count <= needed || r.failedAt(k) || !r.mayRun(k) || !r.mayFit(k) {
			return nil
		}
		a, err := r.add(ctx, k, "memory is predicted from there", r.last())
		if err != nil || a.Failure != nil {
			return stopped(err)
		}
	}
}

// narrowings is how often the largest count is measured again to narrow a prediction.
const narrowings = 2

// narrow measures the largest count again while the noise leaves more than one step of the scale as
// the answer, and that answer is the one that counts.
func (r *run) narrow(ctx context.Context) error {
	for range narrowings {
		levels := r.levels()
		memory, limited := r.memoryCount()
		if len(levels) < 3 || !limited || !r.straddles(memory) || r.MaxInstances > 0 && onScale(memory) >= r.MaxInstances {
			return nil
		}
		if fits, fails := r.edge(); fails == fits+1 {
			return nil // it was run
		}
		if useful, known := r.useful(); known && useful < memory {
			return nil
		}
		a, err := r.add(ctx, levels[len(levels)-1], "repeated for the noise", r.last())
		if err != nil || a.Failure != nil {
			return stopped(err)
		}
	}
	return nil
}

func stopped(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// completed returns the anchors that are points of the law.
func (r *run) completed() []Anchor {
	return slices.DeleteFunc(slices.Clone(r.result.Anchors), func(a Anchor) bool { return a.Failure != nil || a.IsCurve() })
}

// servers returns how many servers with a count have been measured.
func (r *run) servers(instances int) (n int) {
	for _, a := range r.completed() {
		if a.Instances == instances {
			n++
		}
	}
	return n
}

// levels returns the distinct counts of the completed anchors in rising order.
func (r *run) levels() []int {
	var all []int
	for _, a := range r.completed() {
		all = append(all, a.Instances)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// failedAt reports whether a server with this count or fewer instances failed.
func (r *run) failedAt(instances int) bool {
	return slices.ContainsFunc(r.result.Anchors, func(a Anchor) bool {
		return a.Failure != nil && a.Instances <= instances
	})
}
