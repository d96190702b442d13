package sequence

import "triton/server/infer"

// Memory makes the implicit states of the sequences of one model version. Its
// methods are called without locks held, by whoever holds that seat.
type Memory interface {
	// Begin makes the initial states of one sequence that runs on the instance of
	// that seat. It is called before the first request of a sequence runs, and
	// before every other one with START. After an error, which is logged as
	// "Failed to initialize sequence state: <error>", the sequence goes on without
	// states.
	Begin(seat int) (States, error)
	// Fit says whether requests with these states can share a batch, which needs the
	// same shapes. A nil stands for the states of a sequence that begins.
	Fit(a, b States) bool
	// Close gives the initial values back, when the version is done with.
	Close()
}

// States are the states of one sequence. One goroutine at a time uses them
// unless the model is decoupled.
type States interface {
	infer.States
	// Give adds the current values to a request that is about to run, as extras
	// with the names, types and shapes of the states' inputs, and sets its States.
	Give(r *infer.Request)
	// GiveNull is Give for a null request, which fills a row of no sequence: it gets
	// the same values, so that its shapes fit those of the batch (they may have
	// grown since the sequence began), and what it updates is dropped.
	GiveNull(r *infer.Request)
	// Close gives the memory back. Nobody uses the states any more.
	Close()
}
