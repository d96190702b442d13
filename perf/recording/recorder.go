package recording

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"triton/pkg/kserve"
)

// DefaultMemory is the default of Options.Memory.
const DefaultMemory = 256 << 20

// Options configure a recording.
type Options struct {
	Program  string // for the header of the recording
	Protocol string
	// Memory bounds the bodies that wait for their end, in bytes. Requests beyond it are
	// forwarded and not recorded.
	Memory int64
}

// Counts are what a recording has seen.
type Counts struct {
	Recorded uint64
	// Requests for inference that were forwarded and are not in the recording.
	Failed       uint64 // not in the form of the protocol, or in shared memory
	TooLarge     uint64 // no memory was left for them
	FirstFailure string // why the first one of Failed is not in the recording
}

// Recorder is a proxy that forwards the requests of clients to a server and writes those for inference to a recording,
// with the time at which they arrived. All methods may be called at the same time.
type Recorder struct {
	started time.Time
	memory  int64         // that requests take at most, in bytes
	held    atomic.Int64  // that they take now
	large   atomic.Uint64 // requests that no memory was left for

	mu struct {
		sync.Mutex
		w      *Writer
		counts Counts
		err    error // of writing; then nothing more is written
		closed bool
	}
	failed chan struct{} // closed with mu.err
	done   chan struct{} // ends flush
	flush  sync.WaitGroup
}

// flushInterval is how much of a recording a killed process loses at most.
const flushInterval = time.Second

// NewRecorder starts a recording; arrivals count from now.
func NewRecorder(w io.Writer, o Options) (*Recorder, error) {
	r := &Recorder{started: time.Now(), memory: o.Memory, failed: make(chan struct{}), done: make(chan struct{})}
	if r.memory <= 0 {
		r.memory = DefaultMemory
	}
	t, err := NewWriter(w, Header{Started: r.started.UTC(), Program: o.Program, Protocol: o.Protocol})
	if err != nil {
		return nil, err
	}
	r.mu.w = t
	r.flush.Go(r.flushNowAndThen)
	return r, nil
}

func (r *Recorder) flushNowAndThen() {
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.mu.Lock()
			r.fail(r.mu.w.Flush())
			r.mu.Unlock()
		case <-r.done:
			return
		}
	}
}

// fail keeps the first error of writing. The caller holds mu.
func (r *Recorder) fail(err error) {
	if err != nil && r.mu.err == nil {
		r.mu.err = fmt.Errorf("the trace: %w", err)
		close(r.failed)
	}
}

// Failed is closed when the recording cannot be written.
func (r *Recorder) Failed() <-chan struct{} { return r.failed }

// now returns the time since the start.
func (r *Recorder) now() time.Duration { return time.Since(r.started) }

// hold takes n bytes of the memory and reports whether they were left. release gives them back.
func (r *Recorder) hold(n int64) bool {
	for {
		held := r.held.Load()
		if n > r.memory-held {
			return false
		}
		if r.held.CompareAndSwap(held, held+n) {
			return true
		}
	}
}

func (r *Recorder) release(n int64) { r.held.Add(-n) }

// add writes a request.
func (r *Recorder) add(arrival time.Duration, m *kserve.Request) {
	line := FromMessage(arrival, m)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed || r.mu.err != nil {
		return
	}
	if err := r.mu.w.Write(line); err != nil {
		r.fail(err)
		return
	}
	r.mu.counts.Recorded++
}

// refuse counts a request that is not in the recording.
func (r *Recorder) refuse(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.counts.Failed++; r.mu.counts.FirstFailure == "" {
		r.mu.counts.FirstFailure = why.Error()
	}
}

// Counts returns what the recording has seen so far.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.mu.counts
	c.TooLarge = r.large.Load()
	return c
}

// Close writes what is left and returns the first error of writing. Requests that end later are
// not recorded.
func (r *Recorder) Close() error {
	close(r.done)
	r.flush.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.closed = true
	r.fail(r.mu.w.Flush())
	return r.mu.err
}
