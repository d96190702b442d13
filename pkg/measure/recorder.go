package measure

import "sync"

// Sample is one completed request.
type Sample struct {
	End     int64 // on the caller's clock
	Latency int64 // nanoseconds from the start to the end
	// Late is how many nanoseconds after its scheduled time the request started; 0
	// without a schedule.
	Late        int64
	Responses   int32 // with outputs
	SequenceEnd bool  // the last request of a sequence
}

// Start returns the time at which the request was sent.
func (s Sample) Start() int64 { return s.End - s.Latency }

// Totals are sums over completed requests, in nanoseconds.
type Totals struct {
	Completed              uint64
	Request, Send, Receive int64
}

// Sub returns the difference t - u.
func (t Totals) Sub(u Totals) Totals {
	return Totals{t.Completed - u.Completed, t.Request - u.Request, t.Send - u.Send, t.Receive - u.Receive}
}

// Add returns the sum t + u.
func (t Totals) Add(u Totals) Totals {
	return Totals{t.Completed + u.Completed, t.Request + u.Request, t.Send + u.Send, t.Receive + u.Receive}
}

// Recorder holds the samples of one worker. Recording allocates only while the
// buffer grows to the size of one window.
type Recorder struct {
	mu struct {
		sync.Mutex
		samples []Sample
		totals  Totals
		waited  int64 // time inside requests since the last Take
		since   int64 // time of the last Take, or of Start
		last    int64 // end of the last request
	}
	spare []Sample
	// Histogram, when set, receives every latency too.
	Histogram *Histogram
}

// Start marks the time at which the worker starts to send.
func (r *Recorder) Start(now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.since, r.mu.last = now, now
}

// Add records a request, and how long the client took to send it and to receive its
// response.
func (r *Recorder) Add(s Sample, send, receive int64) {
	r.mu.Lock()
	r.mu.samples = append(r.mu.samples, s)
	r.mu.totals.Completed++
	r.mu.totals.Request += s.Latency
	r.mu.totals.Send += send
	r.mu.totals.Receive += receive
	r.mu.waited += s.End - max(s.Start(), r.mu.since)
	r.mu.last = s.End
	r.mu.Unlock()
	if r.Histogram != nil {
		r.Histogram.Add(s.Latency)
	}
}

// Wait records that a request lasts until to, although its sample, if it has one, ends
// at from.
func (r *Recorder) Wait(from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.waited += max(0, to-max(from, r.mu.since))
	r.mu.last = to
}

// Pending returns the number of samples since the last Take.
func (r *Recorder) Pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.samples)
}

// Take appends the samples since the last Take to into and returns it with the
// totals so far and the time spent inside requests since the last Take. busy
// means that a request is in flight now.
func (r *Recorder) Take(into []Sample, now int64, busy bool) (_ []Sample, totals Totals, waited int64) {
	r.mu.Lock()
	samples := r.mu.samples
	r.mu.samples = r.spare[:0]
	totals, waited = r.mu.totals, r.mu.waited
	if busy {
		waited += max(0, now-max(r.mu.last, r.mu.since))
	}
	r.mu.waited, r.mu.since = 0, now
	r.mu.Unlock()
	into = append(into, samples...)
	r.spare = samples
	return into, totals, waited
}

// Select appends the samples that ended in [from, to] to within and returns them with
// the samples that ended later, which reuse the memory of samples. Earlier samples are
// dropped.
func Select(samples []Sample, from, to int64, within []Sample) (selected, later []Sample) {
	later = samples[:0]
	for _, s := range samples {
		switch {
		case s.End > to:
			later = append(later, s)
		case s.End >= from:
			within = append(within, s)
		}
	}
	return within, later
}

// Span returns the time from the first start to the last end, 0 without samples.
func Span(samples []Sample) int64 {
	if len(samples) == 0 {
		return 0
	}
	first, last := samples[0].Start(), samples[0].End
	for _, s := range samples {
		first, last = min(first, s.Start()), max(last, s.End)
	}
	return last - first
}
