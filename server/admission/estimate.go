package admission

import (
	"math"
	"slices"
	"sync"
	"time"

	"triton/server/infer"
	"triton/server/scheduler"
)

// Estimate estimates, from the running batches and the cost of recent ones, when a new
// request could be answered.
type Estimate struct {
	mu             sync.Mutex
	maxRows        float64 // of a batch; 0: every request runs alone
	cost           cost
	requestsPerRow float64 // recent mean
	instances      []instance
	free           []int64 // reused by FinishTime
}

// marginDeviations is the safety margin in standard deviations. Under overload admitted
// requests are just early enough.
const marginDeviations = 2

// instance is the state of an instance.
type instance struct {
	broken  bool // takes no more batches
	busy    bool
	started int64
	rows    int
}

var _ scheduler.Observer = (*Estimate)(nil)

// NewEstimate returns an estimate without observations for that many instances, whose
// batches have up to maxRows rows; 0: every request runs alone.
func NewEstimate(instances, maxRows int) *Estimate {
	return &Estimate{maxRows: float64(maxRows), instances: make([]instance, instances), free: make([]int64, 0, instances)}
}

// Started records that an instance is busy.
func (e *Estimate) Started(n int, b *infer.Batch, now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instances[n] = instance{busy: true, started: now, rows: b.Rows}
}

// Add makes a further instance known. It counts from its first batch: until it is created it takes none,
// which may be minutes.
func (e *Estimate) Add(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.instances) <= n {
		e.instances = append(e.instances, instance{broken: true})
	}
	e.instances[n] = instance{broken: true}
}

// Remove no longer counts an instance, which is closed.
func (e *Estimate) Remove(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instances[n] = instance{broken: true}
}

// Ended learns from a batch. Failed batches do not count.
func (e *Estimate) Ended(n int, b *infer.Batch, execution scheduler.Execution) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instances[n] = instance{broken: execution.Broken}
	if execution.Failed || b.Rows == 0 {
		return
	}
	e.cost.add(b.Rows, time.Duration(execution.End-execution.Start))
	per := float64(len(b.Requests)) / float64(b.Rows)
	if e.cost.executions == 1 {
		e.requestsPerRow = per
	}
	e.requestsPerRow += (per - e.requestsPerRow) * (1 - decay)
}

// FinishTime estimates when, by the clock of now, a request with that many requests ahead of
// it can be answered: after the full batches ahead, in a batch of the recent mean size. It
// reports false if the time is not known: after too few executions, or if the request need
// not wait, so that it runs and adds an observation.
func (e *Estimate) FinishTime(now int64, waiting, rows int) (int64, bool) {
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
func (e *Estimate) batch() (requests, rows float64) {
	if e.maxRows == 0 {
		return 1, 1 / e.requestsPerRow
	}
	return max(e.maxRows*e.requestsPerRow, 1), e.maxRows
}

func (e *Estimate) allBusy() bool {
	for i := range e.instances {
		if s := &e.instances[i]; !s.busy && !s.broken {
			return false
		}
	}
	return true
}
