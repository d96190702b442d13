package scheduler

import "triton/server/infer"

// Source gives batches to the instances of one model version: a Queue, or the sequence
// batcher. Each instance has one Slot.
type Source interface {
	// Enqueue accepts a request; the core's reference moves into the source unless there
	// is an error. A caller that can run a batch itself sets mayRun: it may get a slot whose
	// batch contains its request, and must return it with Done.
	Enqueue(r *infer.Request, mayRun bool) (*Slot, error)
	// Next waits for the next batch of a slot; the instance's goroutine calls it while it
	// holds the slot. It returns false when the instance must be closed.
	Next(s *Slot) bool
	// Done returns a slot that Enqueue handed to a caller.
	Done(s *Slot)
	// Retire takes the slot of a broken instance out of service. Any goroutine may call
	// it at any time: the holder of the slot returns it as usual, and Next returns false
	// until Restore.
	Retire(s *Slot)
	// Restore brings a retired slot back into service after its instance was replaced.
	// The instance's goroutine calls it, and then Next.
	Restore(s *Slot)
	// Add returns a further slot, with an index that no slot in use has. It is out of service
	// until Restore, which its instance's goroutine, or the one that starts it, calls first.
	Add(index int) *Slot
	// Remove takes a slot out of service for good: no new work starts on it, and Next returns
	// false once what is bound to it, such as sequences, has ended. Any goroutine may call it.
	Remove(s *Slot)
	// Discard releases what a slot uses: one that was removed and whose goroutine has ended, or
	// one that never was in service.
	Discard(s *Slot)
	// Alive returns the number of slots in service.
	Alive() int
	// Close stops accepting requests. Waiting requests run without further delay; then
	// Next returns false.
	Close()
	// Abort answers all waiting requests with ErrStopping.
	Abort()
	// Free stops timers, once no goroutine uses the source.
	Free()
}

// Releaser is a Source that is notified when a backend is done with a request: it has
// sent the final response or rescheduled the request.
type Releaser interface {
	// Released is called once for each request of a batch, after the backend's call, from
	// any goroutine. It is also called for null requests and for warm-up requests, which
	// never were in the source. It returns true when the request waits again and the
	// source keeps the core's reference.
	Released(r *infer.Request) bool
}

// Gate lets instances start a batch, across models: the rate limiter. With a Gate no
// batch runs on a caller's goroutine. A slot waits for the Gate before its batch is formed,
// so that requests which arrive meanwhile can join.
type Gate interface {
	// Acquire waits for a grant: the right to run one batch on the instance of that slot.
	// A slot that has run a batch and has another one calls Acquire again without
	// Release: its used grant is released and its new wait begins in one step, so it
	// competes fairly with the slots that wait already. Acquire returns false when Abort
	// ended the wait; then nothing may run.
	Acquire(slot int) bool
	// Release ends a grant; ran reports whether a batch was run. Without a grant it does
	// nothing. A retired slot may call it too.
	Release(slot int, ran bool)
	// Weight orders idle slots: the one with the lowest weight is used first.
	Weight(slot int) uint64
	// Abort ends every wait, now and in the future. It is called after Source.Abort.
	Abort()
}

// NewSlots returns the slots of a source.
func NewSlots(n int) []*Slot {
	all := make([]*Slot, n)
	for i := range all {
		all[i] = NewSlot(i)
	}
	return all
}

// NewSlot returns one slot of a source.
func NewSlot(index int) *Slot { return &Slot{Index: index, wake: make(chan struct{}, 1)} }
