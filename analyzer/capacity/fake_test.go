package capacity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// fifo runs each request alone on the instance that is free first, in the order of the
// arrivals. With a limit, requests that would wait behind that many are rejected.
type fifo struct{ limit int }

func (f fifo) Open(m Model, arrivals []Arrival) Trace {
	r := newRun(m)
	for _, a := range arrivals {
		r.add(a, f.limit)
	}
	return r.t
}

func (f fifo) Closed(m Model, clients, rows, requests int) Trace {
	r := newRun(m)
	free := make([]time.Duration, clients) // when each client sends next
	for range requests {
		next := 0
		for c := range free {
			if free[c] < free[next] {
				next = c
			}
		}
		free[next] = r.add(Arrival{At: free[next], Rows: rows}, f.limit)
	}
	return r.t
}

type run struct {
	m      Model
	ends   []time.Duration // of the last request of each instance
	starts []time.Duration
	t      Trace
}

func newRun(m Model) *run { return &run{m: m, ends: make([]time.Duration, m.Instances)} }

// add runs a request and returns when it is answered.
func (r *run) add(a Arrival, limit int) time.Duration {
	first, waiting := 0, 0
	for i := range r.ends {
		if r.ends[i] < r.ends[first] {
			first = i
		}
	}
	for _, s := range r.starts {
		if s > a.At {
			waiting++
		}
	}
	i := len(r.t.Arrivals)
	r.t.Arrivals = append(r.t.Arrivals, a)
	if limit > 0 && waiting >= limit {
		r.t.Fates, r.t.Latency = append(r.t.Fates, Rejected), append(r.t.Latency, 0)
		return a.At
	}
	start := max(a.At, r.ends[first])
	end := start + r.m.Cost(max(a.Rows, 1))
	r.ends[first] = end
	if limit > 0 {
		r.starts = append(r.starts, start)
	}
	r.t.Batches = append(r.t.Batches, Batch{start, end, max(a.Rows, 1), []int{i}})
	r.t.Fates, r.t.Latency = append(r.t.Fates, Answered), append(r.t.Latency, end-a.At)
	return end
}

func planner(t *testing.T, points ...CurvePoint) Planner {
	t.Helper()
	c, err := NewCurve(points)
	require.NoError(t, err)
	return Planner{Queue: fifo{}, Curve: c}
}
