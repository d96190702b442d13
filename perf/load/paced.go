package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"triton/pkg/client/lane"
)

// Paced starts requests at the times of a schedule. A request that cannot start in time,
// because Options.Max requests are in flight or the processor is busy, starts late and its
// sample has the delay; until the level ends none is left out.
type Paced struct {
	pool
	max   int
	due   chan due
	pacer sync.WaitGroup
	stop  chan struct{} // ends the pacer of the level

	flight struct {
		sync.Mutex
		n    int           // requests that are due or in flight
		none chan struct{} // closed while n is 0
	}
	lanes []*pacedLane // of the workers, in their order
}

var _ Generator = (*Paced)(nil)

// due is a request that has to start.
type due struct {
	n  uint64 // number of the request in the level
	at int64  // on lane.Now's clock
}

// queueLength is how many requests may be due while all workers are busy. The pacer waits
// for room; what it hands over then is late, and recorded as late.
const queueLength = 1 << 16

// defaultMax is the default of Options.Max.
const defaultMax = 1024

// NewPaced returns a generator without workers, which end with Close or with ctx.
func NewPaced(ctx context.Context, o Options) *Paced {
	g := &Paced{max: o.Max, due: make(chan due, queueLength)}
	if g.max <= 0 {
		g.max = defaultMax
	}
	g.flight.none = make(chan struct{})
	close(g.flight.none)
	g.init(ctx, o)
	return g
}

// Start starts a request at each time of d.Schedule, counted from now. It ends the schedule
// of the level before; requests of that level that are due still start.
func (g *Paced) Start(d Demand) <-chan struct{} {
	g.endSchedule()
	stop, done := make(chan struct{}), make(chan struct{}, 1)
	g.stop = stop
	g.pacer.Go(func() { g.pace(d, stop, done) })
	return done
}

// Pause starts no more requests, except those that are due.
func (g *Paced) Pause() { g.endSchedule() }

func (g *Paced) endSchedule() {
	if g.stop != nil {
		close(g.stop)
		g.stop = nil
	}
	g.pacer.Wait()
}

// Drain pauses, waits until no request is in flight and ends the open sequences. Requests
// that are due but have not started are dropped: their level is over.
func (g *Paced) Drain(ctx context.Context) error {
	g.endSchedule()
	g.dropDue()
	if err := g.await(ctx); err != nil {
		return fmt.Errorf("waiting for requests in flight: %w", err)
	}
	for _, p := range g.lanes {
		select { // left over from a call that ctx ended
		case <-p.finished:
		default:
		}
		select {
		case p.end <- struct{}{}:
		default:
		}
	}
	for _, p := range g.lanes {
		select {
		case <-p.finished:
		case <-g.failed:
			return ErrLoad
		case <-ctx.Done():
			return fmt.Errorf("waiting for the ends of sequences: %w", ctx.Err())
		}
	}
	return nil
}

func (g *Paced) dropDue() {
	for {
		select {
		case <-g.due:
			g.leave()
		default:
			return
		}
	}
}

// Close ends the schedule and all requests.
func (g *Paced) Close() {
	g.endSchedule()
	g.pool.Close()
}

// pace hands over the requests of a schedule as they become due. The schedule begins once the
// first worker is connected, so that connecting does not delay the first request.
func (g *Paced) pace(demand Demand, stop <-chan struct{}, done chan<- struct{}) {
	if len(g.lanes) == 0 {
		g.addLane()
	}
	select {
	case <-g.lanes[0].ready:
	case <-stop:
		return
	case <-g.failed:
		return
	case <-g.ctx.Done():
		return
	}
	alarm := g.options.NewAlarm(stop)
	defer alarm.Close()
	begin := lane.Now()
	for n := uint64(0); demand.Total == 0 || n < uint64(demand.Total); n++ {
		at, ok := demand.Schedule.Next()
		if !ok {
			break
		}
		d := due{n, begin + int64(at)}
		if !alarm.Sleep(time.Duration(d.at-lane.Now())) || !g.hand(d, stop) {
			return
		}
	}
	if g.awaitOr(stop) {
		done <- struct{}{}
	}
}

// hand gives a request to a worker, and adds a worker if all are busy and there may be one
// more. It reports false once stop is closed.
func (g *Paced) hand(d due, stop <-chan struct{}) bool {
	if n := g.enter(); n > len(g.lanes) && n <= g.max {
		g.addLane()
	}
	select {
	case g.due <- d:
		return true
	case <-stop:
	case <-g.ctx.Done():
	}
	g.leave()
	return false
}

func (g *Paced) addLane() {
	p := &pacedLane{g: g, ready: make(chan struct{}), end: make(chan struct{}, 1), finished: make(chan struct{}, 1)}
	g.lanes = append(g.lanes, p)
	g.add(p.run)
}

// enter counts a request and returns the number of those that are due or in flight.
func (g *Paced) enter() int {
	g.flight.Lock()
	defer g.flight.Unlock()
	if g.flight.n++; g.flight.n == 1 {
		g.flight.none = make(chan struct{})
	}
	return g.flight.n
}

func (g *Paced) leave() {
	g.flight.Lock()
	defer g.flight.Unlock()
	if g.flight.n--; g.flight.n == 0 {
		close(g.flight.none)
	}
}

func (g *Paced) none() <-chan struct{} {
	g.flight.Lock()
	defer g.flight.Unlock()
	return g.flight.none
}

// await waits until no request is due or in flight.
func (g *Paced) await(ctx context.Context) error {
	select {
	case <-g.none():
		return nil
	case <-g.failed:
		return ErrLoad
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitOr waits like await, and also ends with stop; it reports whether no request is left.
func (g *Paced) awaitOr(stop <-chan struct{}) bool {
	select {
	case <-g.none():
		return true
	case <-stop:
	case <-g.failed:
	case <-g.ctx.Done():
	}
	return false
}

// pacedLane is one worker of a Paced generator.
type pacedLane struct {
	ready    chan struct{} // closed once connected
	g        *Paced
	end      chan struct{} // requests the end of the open sequence
	finished chan struct{} // receives once no sequence is open
}

func (p *pacedLane) run(w *worker) error {
	ctx := p.g.ctx
	if err := w.dial(ctx); err != nil {
		return err
	}
	close(p.ready)
	for {
		select {
		case d := <-p.g.due:
			err := w.send(ctx, d.n, d.at)
			p.g.leave()
			if err != nil {
				return err
			}
		case <-p.end:
			if err := w.endSequence(ctx); err != nil {
				return err
			}
			p.finished <- struct{}{}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
