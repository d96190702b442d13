package ondemand

import (
	"fmt"
	"maps"
	"time"
)

// Counts is what a Manager has done, for the metrics.
type Counts struct {
	Loads, Failed     uint64            // of models
	Evictions         map[Reason]uint64 // of models
	Refused, Expired  uint64            // requests: too many waited; the wait was too long
	TooLarge          uint64            // loads for which there never will be memory
	ThrashLoads       uint64            // loads of models that had been evicted shortly before
	Waiting, Queued   int               // requests that wait for a load; loads that wait for memory
	Thrashing         bool
	Budget, Allocated Bytes
}

// Counts returns the counts.
func (m *Manager) Counts() Counts {
	all := m.opts.Models.Loaded()
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts
	c.Evictions = maps.Clone(c.Evictions)
	c.Waiting, c.Queued = m.waiting, len(m.queue)
	c.ThrashLoads, c.Thrashing = m.recent.again, m.recent.thrashing(time.Now())
	c.Budget, c.Allocated = m.opts.Budget, m.used(all, m.freed())
	return c
}

// Thrash is detected when within thrashTime at least minThrashLoads models were loaded and at least
// half of them had been evicted, for memory, less than thrashTime before.
const (
	thrashTime     = time.Minute
	minThrashLoads = 10
)

// recent has the loads and evictions of the last minute.
type recent struct {
	loads     []loadEvent // by time
	evictedAt map[string]time.Time
	again     uint64 // all loads of models that had been evicted shortly before
	told      time.Time
}

type loadEvent struct {
	at    time.Time
	again bool
}

func (r *recent) evicted(now time.Time, name string) {
	if r.evictedAt == nil {
		r.evictedAt = map[string]time.Time{}
	}
	r.evictedAt[name] = now
}

func (r *recent) load(now time.Time, name string) {
	at, evicted := r.evictedAt[name]
	delete(r.evictedAt, name)
	again := evicted && now.Sub(at) < thrashTime
	if again {
		r.again++
	}
	r.loads = append(r.loads, loadEvent{now, again})
}

// thrashing reports whether the same models are loaded again and again.
func (r *recent) thrashing(now time.Time) bool {
	n := 0
	for n < len(r.loads) && now.Sub(r.loads[n].at) >= thrashTime {
		n++
	}
	r.loads = r.loads[n:]
	maps.DeleteFunc(r.evictedAt, func(_ string, at time.Time) bool { return now.Sub(at) >= thrashTime })
	again := r.repeated()
	return len(r.loads) >= minThrashLoads && 2*again >= len(r.loads)
}

func (r *recent) repeated() (n int) {
	for _, l := range r.loads {
		if l.again {
			n++
		}
	}
	return n
}

// tellThrash warns about thrash, once in thrashTime. The caller holds m.mu.
func (m *Manager) tellThrash(now time.Time) {
	if !m.recent.thrashing(now) || now.Sub(m.recent.told) < thrashTime {
		return
	}
	m.recent.told = now
	m.opts.Log.Warn(fmt.Sprintf("the models do not fit into the memory: %d of the last %d loads were of models evicted less than %s before; raise --memory-budget, pin the models that matter, or send fewer models here",
		m.recent.repeated(), len(m.recent.loads), thrashTime), "budget", Text(m.opts.Budget))
}
