package model

import (
	"math"
	"slices"
	"sync"
	"time"

	"triton/server/infer"
	"triton/server/scheduler"
)

// finishEstimate estimates, from the running batches and the cost of recent ones, when a new
// request could be answered.
type finishEstimate struct {
	mu             sync.Mutex
	maxRows        float64 // of a batch; 0: every request runs alone
	cost           batchCost
	requestsPerRow float64 // recent mean
	instances      []busyState
	free           []int64 // reused by FinishTime
}

// marginDeviations is the safety margin in standard deviations. Under overload admitted
// requests are just early enough.
const marginDeviations = 2

// busyState is the state of an instance.
type busyState struct {
	broken  bool // takes no more batches
	busy    bool
	started int64
	rows    int
}

var _ scheduler.Observer = (*finishEstimate)(nil)

// newFinishEstimate returns an estimate without observations for that many instances, whose
// batches have up to maxRows rows; 0: every request runs alone.
func newFinishEstimate(instances, maxRows int) *finishEstimate {
	return &finishEstimate{maxRows: float64(maxRows), instances: make([]busyState, instances), free: make([]int64, 0, instances)}
}

// Started records that an instance is busy.
func (e *finishEstimate) Started(n int, b *infer.Batch, now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instances[n] = busyState{busy: true, started: now, rows: b.Rows}
}

// Add makes a further instance known. It counts from its first batch: until it is created it takes none,
// which may be minutes.
func (e *finishEstimate) Add(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.instances) <= n {
		e.instances = append(e.instances, busyState{broken: true})
	}
	e.instances[n] = busyState{broken: true}
}

// Remove no longer counts an instance, which is closed.
func (e *finishEstimate) Remove(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instances[n] = busyState{broken: true}
}

// Ended learns from a batch. Failed batches do not count.
func (e *finishEstimate) Ended(n int, b *infer.Batch, execution scheduler.Execution) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instances[n] = busyState{broken: execution.Broken}
	if execution.Failed || b.Rows == 0 {
		return
	}
	e.cost.add(b.Rows, time.Duration(execution.End-execution.Start))
	per := float64(len(b.Requests)) / float64(b.Rows)
	if e.cost.executions == 1 {
		e.requestsPerRow = per
	}
	e.requestsPerRow += (per - e.requestsPerRow) * (1 - costDecay)
}

// FinishTime estimates when, by the clock of now, a request with that many requests ahead of
// it can be answered: after the full batches ahead, in a batch of the recent mean size. It
// reports false if the time is not known: after too few executions, or if the request need
// not wait, so that it runs and adds an observation.
func (e *finishEstimate) FinishTime(now int64, waiting, rows int) (int64, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cost.executions < minExecutions || waiting == 0 && !e.allBusy() {
		return 0, false
	}
	free := e.free[:0]
	for i := range e.instances {
		s, at := &e.instances[i], now
		if s.broken {
			continue
		}
		if s.busy {
			at = max(now, s.started+int64(e.cost.duration(float64(s.rows))))
		}
		free = append(free, at)
	}
	if len(free) == 0 {
		return 0, false
	}
	slices.Sort(free)
	each, full := e.batch()
	before := math.Floor(float64(waiting) / each)
	own := math.Mod(float64(waiting), each)/each*full + float64(rows)
	if own < full {
		own = min(max(own, e.cost.meanRows()), full)
	}
	batchesBefore := int(before)
	rounds := batchesBefore / len(free)
	start := free[batchesBefore%len(free)] + int64(rounds)*int64(e.cost.duration(full))
	// The errors of the running batch, the batches ahead and the request's batch are
	// independent, so their variances add up.
	margin := marginDeviations * math.Sqrt(float64(rounds+2)) * float64(e.cost.deviation())
	return start + int64(e.cost.duration(own)) + int64(margin), true
}

// batch returns the requests and rows of a full batch.
func (e *finishEstimate) batch() (requests, rows float64) {
	if e.maxRows == 0 {
		return 1, 1 / e.requestsPerRow
	}
	return max(e.maxRows*e.requestsPerRow, 1), e.maxRows
}

func (e *finishEstimate) allBusy() bool {
	for i := range e.instances {
		if s := &e.instances[i]; !s.busy && !s.broken {
			return false
		}
	}
	return true
}
