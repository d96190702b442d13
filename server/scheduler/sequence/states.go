package sequence

import "triton/server/infer"

// StateStore makes the implicit states of the sequences of one model version. Its methods
// are called without locks held, by the holder of an instance slot.
type StateStore interface {
	// NewStates returns the initial states of a sequence that runs on the instance of
	// that slot. It is called before the first request of a sequence runs, and before
	// every other request with START. After an error, which is logged as "Failed to
	// initialize sequence state: <error>", the sequence runs without states.
	NewStates(slot int) (States, error)
	// Compatible reports whether requests with these states can share a batch, which
	// needs the same shapes. A nil stands for the states of a new sequence.
	Compatible(a, b States) bool
	// Close releases the initial values, once the version is closed.
	Close()
}

// States are the states of one sequence. One goroutine at a time uses them unless the
// model is decoupled.
type States interface {
	infer.States
	// AddTo adds the current values to a request that is about to run, as extras with the
	// names, types and shapes of the states' inputs, and sets its States.
	AddTo(r *infer.Request)
	// AddNullTo is AddTo for a null request. The null request gets the current values of
	// this sequence, so that its shapes match those of the batch: shapes may change while
	// a sequence runs. Its updates are dropped.
	AddNullTo(r *infer.Request)
	// Close releases the memory. The states must not be used any more.
	Close()
}
