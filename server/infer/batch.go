package infer

// Batch is what an instance runs in one execution: whole requests, never split, in
// arrival order. The core owns it; a backend may use it during the call.
type Batch struct {
	Requests []*Request
	Rows     int // sum of the requests' rows

	// Refused is the error that prevents the batch from running; usually nil. The
	// scheduler sets it, and all requests are answered with it.
	Refused error

	// FormedAt is when the scheduler formed the batch, by Now; 0 when the scheduler did not
	// read the clock.
	FormedAt int64
	// InputEnd and OutputStart are the start and the end of the computation, by Now. The
	// backend sets them; the core measures the start and the end of the whole call.
	InputEnd    int64
	OutputStart int64
	// Unreported reports that the backend, which usually reports its executions, has not
	// reported this one. If all its requests failed it does not count as an execution.
	Unreported bool
}

// Reset clears the batch for reuse.
func (b *Batch) Reset() {
	clear(b.Requests)
	*b = Batch{Requests: b.Requests[:0]}
}

// Add appends a request.
func (b *Batch) Add(r *Request) {
	b.Requests = append(b.Requests, r)
	b.Rows += r.Rows()
}

// Wants reports whether any request of the batch wants the output.
func (b *Batch) Wants(output string) bool {
	for _, r := range b.Requests {
		if !r.Membership.Null && r.Wants(output) {
			return true
		}
	}
	return false
}

// Abandoned reports whether all requests of the batch are cancelled, so that its results
// are not needed. A cancelled request of an open sequence is still needed: the next
// request depends on the state that it leaves.
func (b *Batch) Abandoned() bool {
	for _, r := range b.Requests {
		if !r.Membership.Null && (!r.Cancelled() || r.continues()) {
			return false
		}
	}
	return true
}

// continues reports whether the request belongs to a sequence that has not ended.
func (r *Request) continues() bool {
	return r.Membership.Sequence != nil && !r.Membership.iterative && !r.SequenceEnd
}

// Executed copies the time stamps of the batch, which ended at end, to its requests, and lets
// the trace of the first sampled request observe the execution.
func (b *Batch) Executed(end int64) {
	observed := false
	for _, r := range b.Requests {
		observed = r.executed(b, end, !observed) || observed
	}
}

// executed completes the time stamps of one request. If observe is set and the request has a
// trace, the trace observes the execution, and executed returns true.
func (r *Request) executed(b *Batch, end int64, observe bool) bool {
	if r.IsKept() { // its backend may answer it meanwhile
		r.reply.mu.Lock()
		defer r.reply.mu.Unlock()
	}
	r.Times.InputEnd, r.Times.OutputStart, r.Times.ComputeEnd = b.InputEnd, b.OutputStart, end
	if !observe || r.Trace == nil {
		return false
	}
	r.emit(Event{Kind: EventExecuted, Batch: b})
	return true
}
