package load

import "triton/pkg/client/lane"

// Request is one request to send.
type Request struct {
	Prepared     *lane.Prepared
	Stream, Step int           // of the data, where the request begins
	Sequence     lane.Sequence // the zero value for a request of its own
}

// Source chooses the requests of the workers, which call it concurrently.
type Source interface {
	// Next sets r to the next request of a worker, which is number n of the level, from 0.
	Next(worker int, n uint64, r *Request)
	// Finish sets r to a request that ends what the worker has open, and reports whether
	// something is open.
	Finish(worker int, r *Request) bool
}

// Steps is a Source of requests that have nothing to do with each other.
type Steps struct {
	// Prepared holds the request that begins with each step of the data.
	Prepared []*lane.Prepared
	// Batch is the number of steps in a request.
	Batch int
}

// Next sets r to the request that begins n times Batch steps after the first one, modulo
// the number of steps.
func (s *Steps) Next(_ int, n uint64, r *Request) {
	if steps := uint64(len(s.Prepared)); steps > 1 {
		r.Step = int(n * uint64(s.Batch) % steps)
	}
	r.Prepared = s.Prepared[r.Step]
}

// Finish reports that nothing is open.
func (s *Steps) Finish(int, *Request) bool { return false }
