package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// pipeline is one call of Run: the caller's goroutine reads rows into batches, each request has
// a goroutine, and one more writes the lines in the order of the rows.
type pipeline struct {
	*Run
	ctx     context.Context // of the requests
	fail    context.CancelCauseFunc
	reading context.Context // ends with ctx, and when the user interrupts
	stop    context.CancelFunc

	begin       time.Time
	slots       *gate // requests in flight
	memory      *gate // bytes of rows that are read and not yet written
	batches     batcher
	requests    sync.WaitGroup
	results     chan result
	interrupted bool

	tuning struct {
		sync.Mutex
		*tuner
	}
}

// result is the line of a row.
type result struct {
	number int64
	line   []byte
	failed bool
	size   int64 // of the row, in the budget of memory
}

// rowOverhead is the memory of a row besides its values.
const rowOverhead = 512

// maxWait is how many batches of other rows may be read before a batch that is not full is sent.
const maxWait = 64

func newPipeline(ctx context.Context, r *Run) *pipeline {
	p := &pipeline{Run: r, memory: newGate(r.options.MemoryBytes), batches: batcher{size: r.model.batch}, results: make(chan result, 64)}
	p.tuning.tuner = newTuner(r.options.Concurrency)
	p.slots = newGate(int64(p.tuning.now))
	r.state.slots.Store(p.slots)
	p.ctx, p.fail = context.WithCancelCause(ctx)
	p.reading, p.stop = context.WithCancel(p.ctx)
	return p
}

func (p *pipeline) run() error {
	defer p.fail(nil)
	p.begin = time.Now()
	p.state.begin.Store(p.begin.UnixNano())
	unwatch := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		select {
		case <-p.options.Interrupt:
			p.stop()
		case <-unwatch:
		}
	})
	var writing sync.WaitGroup
	writing.Go(p.write)

	err := p.read()
	p.interrupted = errors.Is(err, context.Canceled) && p.ctx.Err() == nil
	if err != nil && !p.interrupted {
		p.fail(err)
	}
	p.requests.Wait()
	close(p.results)
	writing.Wait()
	close(unwatch)
	others.Wait()
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	if !p.interrupted && p.reading.Err() != nil {
		// Interrupted after the last row was read: requests may have given up.
		p.interrupted = p.state.read.Load() != p.state.written.Load()
	}
	return nil
}

// read reads all rows and starts the requests. It returns context.Canceled when it is stopped.
func (p *pipeline) read() error {
	number := p.out.lines
	p.state.read.Store(number)
	for ; ; number++ {
		if err := p.reading.Err(); err != nil {
			return err
		}
		row, err := p.source.Next()
		p.state.setShare(p.source.Progress())
		if number == p.out.lines {
			p.noteIgnored()
		}
		var bad *RowError
		switch {
		case errors.Is(err, io.EOF):
			p.state.read.Store(number)
			return p.flush()
		case err != nil && !errors.As(err, &bad):
			return err
		}
		size := int64(row.Size() + rowOverhead)
		if !p.memory.tryAcquire(size) {
			// Rows that wait for their batch hold the memory that this row waits for.
			if err := p.flush(); err != nil {
				return err
			}
			if err := p.memory.acquire(p.reading, size); err != nil {
				return err
			}
		}
		if bad != nil {
			p.deliver(result{number, appendError(nil, bad), true, size})
			continue
		}
		if err := p.batch(number, row); err != nil {
			return err
		}
	}
}

func (p *pipeline) noteIgnored() {
	if names := p.source.Ignored(); len(names) > 0 {
		p.options.Notice(fmt.Sprintf("The input has columns that are no inputs of model %s and are ignored: %s.", p.model.name, strings.Join(names, ", ")))
	}
}

// batch adds a row to a batch and starts the requests of those that are full or old.
func (p *pipeline) batch(number int64, row rowValues) error {
	if b := p.batches.add(number, row); b != nil {
		return p.start(b)
	}
	if number-p.batches.open[0].numbers[0] > int64(maxWait*p.batches.size) {
		return p.start(p.batches.oldest())
	}
	return nil
}

// flush starts the requests of all batches.
func (p *pipeline) flush() error {
	for b := p.batches.oldest(); b != nil; b = p.batches.oldest() {
		if err := p.start(b); err != nil {
			return err
		}
	}
	return nil
}

// start starts a request as soon as there may be one more.
func (p *pipeline) start(b *batch) error {
	if err := p.slots.acquire(p.reading, 1); err != nil {
		return err
	}
	p.requests.Go(func() {
		defer p.slots.release(1)
		p.send(b)
	})
	return nil
}

func (p *pipeline) deliver(r result) {
	select {
	case p.results <- r:
	case <-p.ctx.Done():
	}
}

// write writes the lines in the order of the rows. Lines behind a row without one are dropped:
// the next run asks for them again.
func (p *pipeline) write() {
	next := p.out.lines
	waiting := map[int64]result{}
	for r := range p.results {
		// From now on the row takes the memory of its line.
		size := int64(rowOverhead + len(r.line))
		p.memory.release(r.size - size)
		r.size = size
		waiting[r.number] = r
		for {
			r, ok := waiting[next]
			if !ok {
				break
			}
			delete(waiting, next)
			if err := p.out.write(r.line); err != nil {
				p.fail(fmt.Errorf("write the output: %w", err))
				return
			}
			p.memory.release(r.size)
			next++
			p.state.written.Store(next)
			if r.failed {
				p.state.failed.Add(1)
			}
		}
		if len(p.results) == 0 {
			if err := p.out.flush(); err != nil {
				p.fail(fmt.Errorf("write the output: %w", err))
				return
			}
		}
	}
}

// answered tells the tuner about a request.
func (p *pipeline) answered(n int) {
	p.tuning.Lock()
	defer p.tuning.Unlock()
	p.slots.setLimit(int64(p.tuning.answered(n, time.Since(p.begin))))
}

func (p *pipeline) refused() {
	p.tuning.Lock()
	defer p.tuning.Unlock()
	p.slots.setLimit(int64(p.tuning.refused()))
}
