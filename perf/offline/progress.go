package offline

import (
	"sync/atomic"
	"time"
)

// state is what Progress reads.
type state struct {
	read, written, failed, retries atomic.Int64
	begin                          atomic.Int64 // Unix time in nanoseconds; 0: not begun
	done, total                    atomic.Int64 // of the input
	slots                          atomic.Pointer[gate]
}

func (s *state) setShare(done, total int64) {
	s.done.Store(done)
	s.total.Store(total)
}

// Progress is the state of a run.
type Progress struct {
	Rows, Resumed, Failed, Retries int64
	Share                          float64 // of the input that was read; negative if unknown
	Elapsed, Left                  time.Duration
	Concurrency, Batch             int
}

// Progress returns the state of the run. Any goroutine may call it.
func (r *Run) Progress() Progress {
	s := &r.state
	p := Progress{
		Rows: s.written.Load(), Resumed: r.out.lines, Failed: r.out.failed + s.failed.Load(), Retries: s.retries.Load(),
		Share: -1, Batch: r.model.batch,
	}
	if total := s.total.Load(); total > 0 {
		p.Share = float64(s.done.Load()) / float64(total)
	}
	if begin := s.begin.Load(); begin > 0 {
		p.Elapsed = time.Since(time.Unix(0, begin))
	}
	if done, total := s.done.Load(), s.total.Load(); done > r.begin && total > 0 {
		p.Left = time.Duration(float64(p.Elapsed) * float64(total-done) / float64(done-r.begin))
	}
	if g := s.slots.Load(); g != nil {
		p.Concurrency = g.limit()
	}
	return p
}
