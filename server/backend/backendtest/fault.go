package backendtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"triton/server/backend"
	"triton/server/infer"
)

// ErrFault is the error of a fault, and the value of a panic.
var ErrFault = errors.New("a fault of the backend")

// BatchFault is something that goes wrong with the execution of a batch.
type BatchFault int

// The faults of a batch.
const (
	Panic     BatchFault = iota + 1 // Execute panics at once
	PanicLast                       // Execute panics when all is answered
	Fail                            // Execute fails at once
	FailLast                        // Execute fails when all is answered
	Broken                          // Execute fails, and the instance is broken
	Breaks                          // the instance reports that it broke, and runs the batch
	Stuck                           // Execute runs until its context ends, and fails
)

// RequestFault is something that goes wrong with one request.
type RequestFault int

// The faults of a request.
const (
	Refused  RequestFault = iota + 1 // it fails alone
	Silent                           // its final response has no data
	Never                            // it is not answered
	Twice                            // it is answered twice
	Late                             // it is answered after Execute
	LateLast                         // the same, when the backend has let go of it
	Kept                             // it is kept, and never answered
)

// Always returns the fault, as a BatchFault of Model.
func (f BatchFault) Always(*infer.Batch) BatchFault { return f }

// Always returns the fault, as a RequestFault of Model.
func (f RequestFault) Always(*infer.Request) RequestFault { return f }

// OneIn returns one of the faults with probability 1/n, and else none.
func OneIn[F BatchFault | RequestFault](n int, faults ...F) F {
	if rand.IntN(n) > 0 { //nolint:gosec // nothing is to be kept secret
		return 0
	}
	return faults[rand.IntN(len(faults))] //nolint:gosec // the same
}

// begin is what goes wrong before a batch runs.
func (i *Instance) begin(ctx context.Context, f BatchFault) error {
	switch f {
	case Panic:
		panic(ErrFault)
	case Fail:
		return ErrFault
	case Broken:
		return fmt.Errorf("%w: %w", ErrFault, backend.ErrBroken)
	case Breaks:
		select {
		case i.broken <- ErrFault:
		default:
		}
	case Stuck:
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// end is what goes wrong when a batch has run.
func end(f BatchFault) error {
	switch f {
	case PanicLast:
		panic(ErrFault)
	case FailLast:
		return ErrFault
	}
	return nil
}

// answer answers a request, as its fault says.
func (i *Instance) answer(r *infer.Request, f RequestFault) {
	if f == 0 {
		r.Respond(i.model.Response(r), true)
		return
	}
	respond := func() { r.Respond(i.model.Response(r), true) }
	switch f {
	case Refused:
		r.Fail(ErrFault)
	case Silent:
		r.Respond(nil, true)
	case Never:
	case Twice:
		respond()
		respond()
	case Late:
		i.later(r, respond, r.LetGo)
	case LateLast:
		i.later(r, r.LetGo, respond)
	case Kept:
		r.Keep()
	}
}

// later keeps a request, and does one thing and then another after random times, which
// the end of the instance cuts short.
func (i *Instance) later(r *infer.Request, first, second func()) {
	r.Keep()
	i.late.Go(func() {
		i.pause()
		first()
		i.pause()
		second()
	})
}

func (i *Instance) pause() {
	select {
	case <-i.closed:
	case <-time.After(rand.N(time.Millisecond)): //nolint:gosec // nothing is to be kept secret
	}
}
