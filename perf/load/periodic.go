package load

import (
	"context"
	"errors"
	"sync"
)

// Periodic sends each request once, in groups: the next group starts when every request of
// the newest one has had a number of responses. Requests stay in flight while later groups
// start.
type Periodic struct {
	finite
	options PeriodicOptions
	group   struct {
		sync.Mutex
		next    int // number of the next request
		total   int
		waiting int // requests of the newest group that have not had Period responses
	}
}

var _ Generator = (*Periodic)(nil)

// PeriodicOptions configure the groups.
type PeriodicOptions struct {
	First  int // requests of the first group
	Step   int // requests of each later group
	Period int // responses
}

// NewPeriodic returns a generator without workers, which end with Close or with ctx.
func NewPeriodic(ctx context.Context, o Options, p PeriodicOptions) *Periodic {
	g := &Periodic{options: p}
	g.init(ctx, o)
	return g
}

// Start sends d.Total requests.
func (g *Periodic) Start(d Demand) <-chan struct{} {
	done := g.expect(d.Total)
	g.group.Lock()
	g.group.next, g.group.total = 0, d.Total
	g.group.Unlock()
	g.startGroup(g.options.First)
	return done
}

// startGroup starts n requests, or those that are left.
func (g *Periodic) startGroup(n int) {
	g.group.Lock()
	first := g.group.next
	n = min(n, g.group.total-first)
	g.group.next += n
	g.group.waiting = n
	g.group.Unlock()
	for i := range n {
		g.start(func(w *worker) error { return g.run(w, uint64(first+i)) })
	}
}

var errPeriod = errors.New("Request received final response before request period was reached. Request period must be at most the total number of responses received by any request.")

// run sends request n.
func (g *Periodic) run(w *worker, n uint64) error {
	responses := 0
	w.x.Observe = func() {
		if responses++; responses == g.options.Period {
			g.periodOver()
		}
	}
	w.options.Source.Next(w.id, n, &w.request)
	answered, err := w.exchange(g.ctx, 0)
	switch {
	case err != nil:
		return err
	case responses >= g.options.Period:
	case answered:
		return errPeriod
	default: // refused; its group does not wait for responses that will not come
		g.periodOver()
	}
	return nil
}

// periodOver counts a request that has had its responses. The last one of its group starts the
// next group.
func (g *Periodic) periodOver() {
	g.group.Lock()
	g.group.waiting--
	last := g.group.waiting == 0
	g.group.Unlock()
	if !last {
		return
	}
	select {
	case <-g.pause():
	default:
		g.startGroup(g.options.Step)
	}
}

// Drain starts no more requests and waits for those in flight.
func (g *Periodic) Drain(ctx context.Context) error {
	g.Pause()
	g.group.Lock()
	unsent := g.group.total - g.group.next
	g.group.next = g.group.total
	g.group.Unlock()
	g.countOver(unsent)
	return g.drain(ctx)
}
