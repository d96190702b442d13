package cache

import (
	"sync"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// flights holds the requests of a model version that are being computed, and the equal
// requests that wait for their responses.
//
//	from       event                               to
//	-          not in the cache, first of its key  leads
//	-          not in the cache, key in flight     follows
//	leads      answered                            answered, and so are all followers
//	leads      cancelled                           answered; the oldest follower leads
//	leads      failed, refused, cannot be stored   answered; all followers run alone
//	follows    cancelled                           answered
//	runs alone answered                            answered, and stored if it can be
//
// After a failure the followers do not wait for each other: if equal requests fail, the last one would
// wait for all the others.
type flights struct {
	runner    *Runner
	promoting sync.WaitGroup // followers that are being submitted
	mu        struct {
		sync.Mutex
		byKey map[Key]*flight
	}
}

// flight is one key that is being computed: the next runner has its leader.
type flight struct {
	flights   *flights
	key       Key
	followers infer.List // under the lock of flights
}

func newFlights(c *Runner) *flights {
	f := &flights{runner: c}
	f.mu.byKey = map[Key]*flight{}
	return f
}

// submit makes r the leader or a follower of its key.
func (f *flights) submit(r *infer.Request, miss *missObserver) error {
	f.mu.Lock()
	fl := f.mu.byKey[miss.key]
	if fl == nil {
		fl = &flight{flights: f, key: miss.key}
		f.mu.byKey[miss.key] = fl
		f.mu.Unlock()
		return fl.leadContained(r)
	}
	r.Times.Queued = infer.Now()
	if !r.Enter(fl) {
		r.TakeFromQueue()
		f.mu.Unlock()
		f.cancelled(r)
		return nil
	}
	fl.followers.Push(r)
	f.runner.opts.Stats.Pending.Add(1)
	f.mu.Unlock()
	return nil
}

// lead submits r, the leader, to the next runner.
func (fl *flight) lead(r *infer.Request, miss *missObserver) error {
	miss.flight = fl
	err := fl.flights.runner.next.Submit(r)
	if err != nil {
		r.Observer = miss.replaced
		fl.finish(nil, failed)
	}
	return err
}

// outcome is how a leader has ended.
type outcome uint8

const (
	failed    outcome = iota // or refused, or its response cannot be stored
	cancelled                // nothing is known about its followers
	computed
)

// finish ends the leader's flight. If it has a response, all followers get it; if it was cancelled,
// the oldest follower becomes the leader; otherwise all followers run alone.
func (fl *flight) finish(resp *infer.Response, how outcome) {
	f := fl.flights
	var done infer.List
	f.mu.Lock()
	for r := fl.followers.Pop(); r != nil; r = fl.followers.Pop() {
		r.TakeFromQueue()
		f.runner.opts.Stats.Pending.Add(-1)
		done.Push(r)
		if how == cancelled {
			break
		}
	}
	if how != cancelled || done.Len() == 0 {
		delete(f.mu.byKey, fl.key)
	}
	if how != computed {
		f.promoting.Add(done.Len())
	}
	f.mu.Unlock()
	var alone []*infer.Request
	for r := done.Pop(); r != nil; r = done.Pop() {
		switch how { // not submitted here: the leader's goroutine may be in the middle of its own batch
		case computed:
			f.answer(r, resp)
		case cancelled:
			go fl.promote(r)
		default:
			alone = append(alone, r)
		}
	}
	if len(alone) > 0 {
		go func() { // one after the other, so that they keep their order
			for _, r := range alone {
				f.runAlone(r)
			}
		}()
	}
}

// answer sends the leader's response to a follower. It counts as a hit: nothing was
// computed for it.
func (f *flights) answer(r *infer.Request, from *infer.Response) {
	miss := removeMissObserver(r)
	resp := infer.NewResponse()
	share(from.Parameters, from.Outputs, resp)
	r.Hold()
	f.runner.hit(r, resp, stats.CacheHit{Queued: infer.Now() - r.Times.Queued - miss.lookup, Lookup: miss.lookup})
	r.Deliver()
	r.Release()
}

// promote makes a follower the leader.
func (fl *flight) promote(r *infer.Request) {
	defer fl.flights.promoting.Done()
	r.PrepareRequeue()
	if err := fl.leadContained(r); err != nil {
		fl.flights.runner.opts.Stats.Fail(stats.Other, infer.Now()-r.Times.Received)
		r.Fail(err)
		r.Release()
	}
}

// runAlone submits a follower whose leader has failed.
func (f *flights) runAlone(r *infer.Request) {
	defer f.promoting.Done()
	r.PrepareRequeue()
	if err := f.submitContained(r); err != nil {
		f.fail(r, err, stats.Other)
	}
}

// submitContained submits a request to the next runner, and turns a panic into an error. If the next
// runner has already accepted the request, that runner answers it.
func (f *flights) submitContained(r *infer.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = f.panicked(r, p)
		}
	}()
	return f.runner.next.Submit(r)
}

// panicked logs a panic and returns the error for a request that the next runner has not accepted.
func (f *flights) panicked(r *infer.Request, p any) error {
	log.Panicked(f.runner.opts.Log, "panic while a request was submitted", p)
	if r.State() != infer.Decoded {
		return nil
	}
	return status.New(status.Internal, "internal error while the request was queued; the server's log has the details")
}

// leadContained is lead that turns a panic into an error, so that followers do not wait for
// ever. If the next runner has already accepted the request, that runner answers it.
func (fl *flight) leadContained(r *infer.Request) (err error) {
	miss := r.Observer.(*missObserver)
	before := miss.replaced
	defer func() {
		if p := recover(); p != nil {
			if err = fl.flights.panicked(r, p); err != nil {
				r.Observer = before
				fl.finish(nil, failed)
			}
		}
	}()
	return fl.lead(r, miss)
}

// Withdraw removes a follower that was cancelled.
func (fl *flight) Withdraw(r *infer.Request) bool {
	fl.flights.mu.Lock()
	if !fl.has(r) { // it may be a leader now and wait elsewhere
		fl.flights.mu.Unlock()
		return false
	}
	r.TakeFromQueue()
	fl.followers.Remove(r)
	fl.flights.mu.Unlock()
	fl.flights.runner.opts.Stats.Pending.Add(-1)
	fl.flights.cancelled(r)
	return true
}

func (fl *flight) has(r *infer.Request) bool {
	for f := fl.followers.Front(); f != nil; f = f.Next() {
		if f == r {
			return true
		}
	}
	return false
}

// cancelled answers a follower that was cancelled.
func (f *flights) cancelled(r *infer.Request) {
	f.fail(r, status.New(status.Cancelled, ""), stats.Canceled)
}

// fail answers a follower that never led.
func (f *flights) fail(r *infer.Request, err error, why stats.Failure) {
	removeMissObserver(r)
	f.runner.opts.Stats.Fail(why, infer.Now()-r.Times.Received)
	r.Fail(err)
	r.Release()
}

// removeMissObserver takes the observer from a follower, so that its response is not stored.
func removeMissObserver(r *infer.Request) missObserver {
	miss := r.Observer.(*missObserver)
	r.Observer = miss.replaced
	return *miss
}

// drain is called after the drain of the next runner. If that drain completed, all leaders are answered. Their
// followers are submitted, and the next runner refuses each; drain waits for the last one. If the drain timed
// out, drain answers the followers that still wait.
func (f *flights) drain(completed bool) {
	if completed {
		f.promoting.Wait()
		return
	}
	var left infer.List
	f.mu.Lock()
	for _, fl := range f.mu.byKey {
		for r := fl.followers.Pop(); r != nil; r = fl.followers.Pop() {
			r.TakeFromQueue()
			left.Push(r)
		}
	}
	f.mu.Unlock()
	for r := left.Pop(); r != nil; r = left.Pop() {
		f.runner.opts.Stats.Pending.Add(-1)
		f.fail(r, scheduler.ErrStopping(r), stats.Rejected)
	}
}
