package load

import (
	"context"
	"sync"

	"triton/pkg/measure"
)

// pool holds the workers of a generator.
type pool struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	failed  chan struct{} // closed when a worker has failed

	mu struct {
		sync.Mutex
		workers []*worker
		failed  bool
	}
}

func (p *pool) init(ctx context.Context, o Options) {
	p.options, p.failed = o, make(chan struct{})
	p.ctx, p.cancel = context.WithCancel(ctx)
}

// add adds a worker, which runs until it returns an error or the pool is closed.
func (p *pool) add(run func(*worker) error) { p.launch(p.addWorker(), run) }

// addWorker adds a worker that launch starts.
func (p *pool) addWorker() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := newWorker(&p.options, len(p.mu.workers))
	p.mu.workers = append(p.mu.workers, w)
	return w
}

func (p *pool) launch(w *worker, run func(*worker) error) {
	p.wg.Go(func() {
		defer w.close()
		if err := run(w); err != nil && p.ctx.Err() == nil {
			w.err.Store(&err)
			p.fail()
		}
	})
}

func (p *pool) workers() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.workers
}

func (p *pool) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mu.failed {
		p.mu.failed = true
		close(p.failed)
	}
}

func (p *pool) Failed() <-chan struct{} { return p.failed }

func (p *pool) Err() error {
	for _, w := range p.workers() {
		if w.err.Load() != nil {
			return ErrLoad
		}
	}
	return nil
}

func (p *pool) Failures() []Failure {
	var all []Failure
	for i, w := range p.workers() {
		if err := w.err.Load(); err != nil {
			all = append(all, Failure{i, *err})
		}
	}
	return all
}

func (p *pool) Pending() int {
	n := 0
	for _, w := range p.workers() {
		n += w.rec.Pending()
	}
	return n
}

func (p *pool) Collect(samples []measure.Sample, now int64) Batch {
	b := Batch{Samples: samples}
	senders := int64(0)
	for _, w := range p.workers() {
		var totals measure.Totals
		var inFlight int64
		b.Samples, totals, inFlight = w.rec.Take(b.Samples, now, w.busy.Load())
		b.Totals = b.Totals.Add(totals)
		b.Started += w.started.Load()
		b.Errors += w.errors.Load()
		if err := w.lastError.Load(); err != nil {
			b.LastError = *err
		}
		if inFlight > 0 {
			b.InFlight += inFlight
			senders++
		}
	}
	if senders > 0 {
		b.InFlight /= senders
	}
	return b
}

func (p *pool) Snapshot(c *measure.Counts) {
	for _, w := range p.workers() {
		if w.rec.Histogram != nil {
			c.Merge(w.rec.Histogram)
		}
	}
}

func (p *pool) Close() {
	p.cancel()
	p.wg.Wait()
}
