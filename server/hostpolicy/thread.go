package hostpolicy

import (
	"runtime"
	"sync"
)

// Go binds a new thread and calls f on it, on a goroutine of its own. The thread ends with f. Go
// returns when the thread is bound, or with the reason why it cannot be: then f is not called.
// Processes that f starts, and threads that C code starts in it, are bound too; goroutines are not.
func (p Policy) Go(f func()) error {
	bound := make(chan error)
	go p.run(f, bound)
	return <-bound
}

func (p Policy) run(f func(), bound chan<- error) {
	runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
	if onMainThread() {
		// The main thread shows what the whole process is bound to, and does not end. While it
		// is locked, another goroutine runs on another thread.
		other := make(chan error)
		go p.run(f, other)
		bound <- <-other
		runtime.UnlockOSThread()
		return
	}
	err := p.bind()
	bound <- err
	if err == nil {
		f()
	}
}

// Thread is a thread of the system that calls functions one after the other.
type Thread struct {
	mu   sync.Mutex // held by a call
	work chan func()
	done chan struct{}
}

// Start starts a thread with the policy. Without settings it is a thread like any other.
func (p Policy) Start() (*Thread, error) {
	t := &Thread{work: make(chan func()), done: make(chan struct{})}
	return t, p.Go(t.serve)
}

func (t *Thread) serve() {
	for f := range t.work {
		f()
		t.done <- struct{}{}
	}
}

// Do calls f on the thread and waits for it. f must not panic, nor call Do.
func (t *Thread) Do(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.work <- f
	<-t.done
}

// Close ends the thread. No call may run or follow.
func (t *Thread) Close() { close(t.work) }
