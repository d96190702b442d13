package top

import (
	"strings"
	"time"
)

// Row is what happened to a version, or to all of them, between two readings. Values that are not
// known are nil: a rate before the second reading, a mean without requests, a gauge that the server
// does not have.
type Row struct {
	Model       string   `json:"model"`
	Version     string   `json:"version"`
	State       string   `json:"state,omitempty"`
	Reason      string   `json:"reason,omitempty"`
	Requests    *float64 `json:"requests_per_second,omitempty"`
	Failures    *float64 `json:"failures_per_second,omitempty"`
	Latency     *float64 `json:"latency_us,omitempty"` // mean of the answered requests
	Queue       *float64 `json:"queue_us,omitempty"`   // mean, part of Latency
	Compute     *float64 `json:"compute_us,omitempty"` // mean, part of Latency
	Pending     *float64 `json:"pending,omitempty"`
	InFlight    *float64 `json:"in_flight,omitempty"`
	Batch       *float64 `json:"batch_size,omitempty"` // mean
	CacheHits   *float64 `json:"cache_hit_percent,omitempty"`
	MemoryBytes *float64 `json:"memory_bytes,omitempty"`
}

// Table is the rows between two readings of a server.
type Table struct {
	Server  string   `json:"server,omitempty"`
	Seconds float64  `json:"seconds"` // between the readings; 0: there is only one
	Machine Machine  `json:"machine"`
	All     Row      `json:"all"`
	Rows    []Row    `json:"models"`
	Notes   []string `json:"notes,omitempty"`
}

// between returns the rows between two readings; earlier may be nil. Only models whose name contains
// the filter are in it and in the sum.
func between(earlier, now *sample, filter string) Table {
	t := Table{Server: now.server, Machine: now.machine, Notes: now.notes, Rows: []Row{}}
	var seconds float64
	if earlier != nil && earlier.counted == now.counted {
		seconds = now.at.Sub(earlier.at).Seconds()
		t.Seconds = seconds
	}
	all := &state{}
	var sum counters
	for v, st := range now.versions {
		if !strings.Contains(strings.ToLower(v.Model), strings.ToLower(filter)) {
			continue
		}
		var delta counters
		if seconds > 0 && st.counted {
			var before counters // zeros, if the version was not there
			if e := earlier.versions[v]; e != nil && e.counted {
				before = e.counters
			}
			delta = st.counters.since(before)
			sum.each(&delta, func(to, from *float64) { *to += *from })
			all.counted = true
		}
		for _, g := range []struct{ to, from **float64 }{{&all.pending, &st.pending}, {&all.inFlight, &st.inFlight}, {&all.bytes, &st.bytes}} {
			if *g.from != nil {
				all.add(g.to, **g.from)
			}
		}
		t.Rows = append(t.Rows, row(v, st, delta, seconds))
	}
	t.All = row(version{Model: "all"}, all, sum, seconds)
	return t
}

func row(v version, st *state, c counters, seconds float64) Row {
	r := Row{
		Model: v.Model, Version: v.Version, State: st.State, Reason: st.Reason,
		Pending: st.pending, InFlight: st.inFlight, MemoryBytes: st.bytes,
	}
	if seconds <= 0 || !st.counted {
		return r
	}
	quotient := func(a, b float64) *float64 {
		if b <= 0 {
			return nil
		}
		a /= b
		return &a
	}
	micros := func(e events, n float64) *float64 { return quotient(e.ns/float64(time.Microsecond), n) }
	r.Requests, r.Failures = quotient(c.success.n, seconds), quotient(c.failure.n, seconds)
	r.Latency, r.Queue = micros(c.success, c.success.n), micros(c.queue, c.queue.n)
	computed := c.input
	computed.add(c.infer)
	computed.add(c.output)
	r.Compute = micros(computed, c.infer.n)
	r.Batch = quotient(c.rows, c.batches)
	r.CacheHits = quotient(100*c.hit.n, c.hit.n+c.miss.n)
	return r
}
