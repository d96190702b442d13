package load

import (
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
)

// Request is one request to send.
type Request struct {
	Prepared     *lane.Prepared
	Stream, Step int           // of the data, where the request begins
	Sequence     lane.Sequence // zero: the request belongs to no sequence
	// Sent is the request itself if it is not that of the data.
	Sent *kserve.Request
}

// Source chooses the requests of the workers, which call it concurrently.
type Source interface {
	// Next sets r to the next request of a worker, which is number n of the level, from 0.
	Next(worker int, n uint64, r *Request)
	// Finish reports whether a sequence of the worker is open, and sets r to the request
	// that ends it.
	Finish(worker int, r *Request) bool
}

// Steps is a Source of independent requests.
type Steps struct {
	// Prepared holds a request for each step of the data, which begins with it. Requests of several steps
	// overlap.
	Prepared []*lane.Prepared
	// Batch is the number of steps in a request.
	Batch int
}

// Next sets r to the request that begins n times Batch steps after the first one, modulo
// the number of steps.
func (s *Steps) Next(_ int, n uint64, r *Request) {
	r.Step = int(n * uint64(s.Batch) % uint64(len(s.Prepared)))
	r.Prepared = s.Prepared[r.Step]
}

// Finish reports false: there are no sequences.
func (s *Steps) Finish(int, *Request) bool { return false }
