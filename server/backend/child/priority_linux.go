package child

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"triton/server/hostpolicy"
)

const (
	// backgroundNice is added to the nice value of a child in the background: the scheduler gives it a
	// tenth of the share of other processes.
	backgroundNice = 10
	maxNice        = 19
)

// background is the low priority of a child that starts.
type background struct {
	usual int         // the nice value before
	limit *time.Timer // raises the priority
}

// enterBackground lowers the priority of a child for at most a time. It does nothing if this process could
// not raise the priority again: the child would serve with it. The child executes its program already: up
// to that point it keeps a processor of Go's scheduler waiting, so it must not be slow.
func (p *Process) enterBackground(limit time.Duration) {
	if limit <= 0 || !mayRaise() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.reaped {
		return
	}
	usual, err := niceOf(p.pid)
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, p.pid, min(usual+backgroundNice, maxNice)) != nil {
		return
	}
	b := &background{usual: usual}
	b.limit = time.AfterFunc(limit, func() { p.raise(b, false) })
	p.mu.background = b
}

// Foreground gives a child that was started in the background, and what it has started, the priority that
// it had before. The child must not start threads or processes meanwhile, which could keep the low
// priority, and must not have set priorities itself, which are lost.
func (p *Process) Foreground() {
	p.mu.Lock()
	b := p.mu.background
	p.mu.Unlock()
	if b != nil {
		b.limit.Stop()
		p.raise(b, true)
	}
}

// raise gives all threads of the child's group the priority before. The last call ends the background.
func (p *Process) raise(b *background, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.background == b && !p.mu.reaped {
		_ = unix.Setpriority(unix.PRIO_PGRP, p.pid, b.usual) // mayRaise
	}
	if last {
		p.mu.background = nil
	}
}

// niceOf returns the nice value of a thread; 0: the calling one.
func niceOf(tid int) (int, error) {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	return 20 - n, err // the kernel returns 20 minus the nice value
}

// mayRaise reports whether this process may undo a low priority: it has the capability SYS_NICE, or its
// RLIMIT_NICE permits the nice value that it has. A thread that ends afterwards tries it.
var mayRaise = sync.OnceValue(func() bool {
	tried := make(chan bool, 1)
	err := hostpolicy.Policy{}.Go(func() {
		usual, err := niceOf(0)
		if err == nil {
			err = unix.Setpriority(unix.PRIO_PROCESS, 0, usual+1)
		}
		if err == nil {
			err = unix.Setpriority(unix.PRIO_PROCESS, 0, usual)
		}
		tried <- err == nil
	})
	return err == nil && <-tried
})
