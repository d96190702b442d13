package perf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"triton/cmd/cli/process"
	"triton/perf"
)

// together measures several models at once. Each has a run of its own. At the start of a level
// and after its last window a run waits for the others, under load, so that every window of one is
// measured under the load of all.
type together struct {
	out      io.Writer
	sections []*section

	mu struct {
		sync.Mutex
		running int
		waiting int
		done    bool          // a waiting model has ended a level
		passed  chan struct{} // closed when all running models wait
	}
}

func newTogether(out io.Writer, models int) *together {
	t := &together{out: out}
	t.mu.running, t.mu.passed = models, make(chan struct{})
	return t
}

// section collects the text of a model, which is printed when all models end a level.
type section struct {
	name string
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *section) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// labeled writes whole lines with the name of a model in front.
type labeled struct {
	name string
	to   io.Writer
}

func (l labeled) Write(p []byte) (int, error) {
	var b bytes.Buffer
	for line := range bytes.Lines(p) {
		if len(bytes.TrimSpace(line)) > 0 {
			b.WriteString(l.name + ": ")
		}
		b.Write(line)
	}
	if _, err := l.to.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// measureTogether runs a measurement for each model and returns the error of the first one that
// failed, or else the first other exit code.
func measureTogether(ctx context.Context, p process.Process, all []*options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := newTogether(p.Stdout, len(all))
	for _, o := range all {
		t.sections = append(t.sections, &section{name: o.name})
	}
	signals := newFanOut(p, len(all))
	defer signals.stop()
	codes := make([]error, len(all))
	var runs sync.WaitGroup
	for i, o := range all {
		one := p
		one.Stdout, one.StdoutTerminal, one.StderrTerminal = t.sections[i], false, false
		one.Stderr = labeled{o.name, p.Stderr}
		one.Signals = func() (<-chan os.Signal, func()) { return signals.to[i], func() {} }
		o.together = true
		o.observer = func(next perf.Observer) perf.Observer { return &levelObserver{ctx, t, next} }
		runs.Go(func() {
			defer t.leave()
			codes[i] = runModel(ctx, one, o)
			if endsOthers(codes[i]) && ctx.Err() == nil {
				fmt.Fprintf(p.Stderr, "The measurement of %s failed: the others end.\n", o.name)
				cancel()
			}
		})
	}
	runs.Wait()
	t.print()
	var first error
	for _, err := range codes {
		if endsOthers(err) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// endsOthers reports whether a model has ended without having been measured, so that the figures of
// the others would not be those of the load of all.
func endsOthers(err error) bool {
	var exit *process.ExitError
	return errors.As(err, &exit) && (exit.Code == failed || exit.Code == noRequests)
}

// await waits until all running models wait, and prints their sections then if a level is done.
func (t *together) await(ctx context.Context, done bool) {
	t.mu.Lock()
	passed := t.mu.passed
	t.mu.done = t.mu.done || done
	t.mu.waiting++
	t.pass()
	t.mu.Unlock()
	select {
	case <-passed:
	case <-ctx.Done():
	}
}

// leave ends the part of a model whose run is over.
func (t *together) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.running--
	t.pass()
}

// pass lets the waiting models go on if they are all that run. The caller holds t.mu.
func (t *together) pass() {
	if t.mu.waiting == 0 || t.mu.waiting < t.mu.running {
		return
	}
	if t.mu.done {
		t.print()
	}
	t.mu.waiting, t.mu.done = 0, false
	close(t.mu.passed)
	t.mu.passed = make(chan struct{})
}

// print prints the sections, one after the other.
func (t *together) print() {
	for _, s := range t.sections {
		s.mu.Lock()
		if s.text.Len() > 0 {
			fmt.Fprintf(t.out, "=== Model %s\n%s\n", s.name, bytes.TrimRight(s.text.Bytes(), "\n"))
			s.text.Reset()
		}
		s.mu.Unlock()
	}
}

// levelObserver holds a run at the start of each level, after its windows and at its end.
type levelObserver struct {
	ctx  context.Context
	all  *together
	next perf.Observer
}

func (o *levelObserver) Observe(e perf.Event) {
	o.next.Observe(e)
	switch e := e.(type) {
	case perf.LevelStarted:
		if !e.WarmUp { // which only a concurrency reports
			o.all.await(o.ctx, false)
		}
	case perf.LevelMeasured:
		o.all.await(o.ctx, false)
	case perf.LevelDone:
		o.all.await(o.ctx, true)
	}
}

// fanOut passes the signals of the process on to several runs.
type fanOut struct {
	to   []chan os.Signal
	done chan struct{}
	wg   sync.WaitGroup
}

func newFanOut(p process.Process, n int) *fanOut {
	f := &fanOut{done: make(chan struct{})}
	for range n {
		f.to = append(f.to, make(chan os.Signal, 4))
	}
	from, unsubscribe := p.Signals()
	f.wg.Go(func() {
		defer unsubscribe()
		for {
			select {
			case sig := <-from:
				for _, to := range f.to {
					select {
					case to <- sig:
					default: // the run has ended, or has signals enough
					}
				}
			case <-f.done:
				return
			}
		}
	})
	return f
}

func (f *fanOut) stop() {
	close(f.done)
	f.wg.Wait()
}
