package infer

// Batch is what an instance runs in one execution: whole requests, never split,
// in arrival order. The core owns it; a backend holds it for the call.
type Batch struct {
	Requests []*Request
	Rows     int // sum of the requests' rows

	// Refused is why the batch cannot be run; nil for almost all. The scheduler
	// sets it, and all requests are answered with it.
	Refused error

	// Cut is when the scheduler took the batch from its queue, by Now; 0: it did not
	// look.
	Cut int64
	// The backend sets these two, by Now, around its engine's own call; the
	// core sets the outer ones.
	InputEnd    int64
	OutputStart int64
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

// Wants says whether anybody who waits for a request of the batch asks for the
// output.
func (b *Batch) Wants(output string) bool {
	for _, r := range b.Requests {
		if !r.Member.Null && r.Wants(output) {
			return true
		}
	}
	return false
}

// Abandoned says whether nobody waits for any request of the batch any more, so
// that running it on is work for no one. A step of a sequence that goes on is
// never: the next one finds what it leaves.
func (b *Batch) Abandoned() bool {
	for _, r := range b.Requests {
		if !r.Member.Null && (!r.Cancelled() || r.continued()) {
			return false
		}
	}
	return true
}

// continued says whether the request is a step of a sequence that goes on.
func (r *Request) continued() bool {
	return r.Member.Of != nil && !r.Member.iterative && !r.SequenceEnd
}

// Executed completes the requests' time stamps with those of the batch, which
// ended at end, and tells the first trace of it.
func (b *Batch) Executed(end int64) {
	told := false
	for _, r := range b.Requests {
		told = r.executed(b, end, !told) || told
	}
}

// executed reports whether a trace was told.
func (r *Request) executed(b *Batch, end int64, tell bool) bool {
	if r.IsKept() { // its engine may answer it meanwhile
		r.reply.mu.Lock()
		defer r.reply.mu.Unlock()
	}
	r.Times.InputEnd, r.Times.OutputStart, r.Times.ComputeEnd = b.InputEnd, b.OutputStart, end
	if !tell || r.Trace == nil {
		return false
	}
	r.emit(Event{Kind: EventExecuted, Batch: b})
	return true
}
