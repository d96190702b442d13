package scheduler

import "triton/server/infer"

// Source gives batches to the instances of one model version: a Queue, or what
// keeps sequences together. Each instance has a Seat of it.
type Source interface {
	// Enqueue accepts a request; the core's reference moves into the source unless
	// there is an error. A caller that can run a batch itself sets run: it may
	// get a seat, whose batch has its request, and must give that back with Done.
	Enqueue(r *infer.Request, run bool) (*Seat, error)
	// Next waits for the next batch of a seat; the instance's goroutine calls it
	// while it holds the seat. False means that the instance is to be closed.
	Next(s *Seat) bool
	// Done gives back a seat that Enqueue handed to a caller.
	Done(s *Seat)
	// Retire takes a seat out of service whose instance is broken. Anybody may call
	// it at any time: who has the seat gives it back as always, and Next answers
	// false until Restore.
	Retire(s *Seat)
	// Restore brings a retired seat back into service, whose instance was replaced.
	// The instance's goroutine calls it, and then Next.
	Restore(s *Seat)
	// Alive is the number of seats in service.
	Alive() int
	// Close stops accepting requests. What waits is run without further delay, and
	// then Next answers false.
	Close()
	// Abort answers everything that waits as Close answers new requests.
	Abort()
	// Free ends timers, once no goroutine uses the source any more.
	Free()
}

// Releaser is a Source that wants to know when an engine is done with a
// request: it has sent its final response or rescheduled the request.
type Releaser interface {
	// Released is called once for each request of a batch, null requests among them, from any
	// goroutine, and never before the call of the engine is over. True means that the request waits again and the
	// core's reference with it.
	// Those that warm up a new instance are among them, and none of the source's.
	Released(r *infer.Request) bool
}

// Gate lets instances begin a batch, across models: the rate limiter. With a
// Gate no batch runs on a caller's goroutine, and what waits for the Gate is
// the seat alone: its batch is cut after Acquire.
type Gate interface {
	// Acquire waits until the instance of that seat may run one batch. One that
	// has run a batch and finds more to do calls it again in place of Release: it
	// gives up its turn and asks for the next in one step, and so competes fairly
	// with those that wait. False means that Abort ended the wait; nothing may run
	// then.
	Acquire(seat int) bool
	// Release ends a turn, whether a batch was run or not. A seat that has none,
	// or is retired, may call it too.
	Release(seat int, ran bool)
	// Weight says which of several idle seats is to be taken: the one of the lowest weight.
	Weight(seat int) uint64
	// Abort ends every wait, now and from now on. It comes after Source.Abort.
	Abort()
}

// NewSeats makes the seats of a source.
func NewSeats(n int) []*Seat {
	all := make([]*Seat, n)
	for i := range all {
		all[i] = &Seat{Index: i, wake: make(chan struct{}, 1)}
	}
	return all
}
