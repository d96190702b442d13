package top

import (
	"time"

	"triton/pkg/client"
	"triton/pkg/scrape"
)

// version names a version of a model.
type version struct{ Model, Version string }

// events are the number of events since the start of the server, and the sum of their durations.
type events struct{ n, ns float64 }

func (e *events) add(o events) { e.n, e.ns = e.n+o.n, e.ns+o.ns }

// counters are the counters of a version that only grow, unless it is loaded again.
type counters struct {
	success, failure, queue, input, infer, output, hit, miss events
	rows, batches                                            float64
}

func (c *counters) each(o *counters, do func(mine, other *float64)) {
	of := func(c *counters) []*events {
		return []*events{&c.success, &c.failure, &c.queue, &c.input, &c.infer, &c.output, &c.hit, &c.miss}
	}
	others := of(o)
	for i, e := range of(c) {
		do(&e.n, &others[i].n)
		do(&e.ns, &others[i].ns)
	}
	do(&c.rows, &o.rows)
	do(&c.batches, &o.batches)
}

// since returns what was counted after an earlier reading. Where a counter is smaller than before,
// the version was loaded again, or the server started again: then all of it was counted since.
func (c counters) since(earlier counters) counters {
	again := false
	c.each(&earlier, func(now, before *float64) { again = again || *now < *before })
	if again {
		return c
	}
	c.each(&earlier, func(now, before *float64) { *now -= *before })
	return c
}

// state is what a server says of a version at a time. Gauges that it does not have are nil.
type state struct {
	State, Reason            string
	counters                 counters
	counted                  bool // the server has counters of the version
	pending, inFlight, bytes *float64
}

func (s *state) add(gauge **float64, v float64) {
	if *gauge == nil {
		*gauge = new(float64)
	}
	**gauge += v
}

// sample is what a server says at a time.
type sample struct {
	at       time.Time
	server   string // name and version
	versions map[version]*state
	machine  Machine
	notes    []string // what could not be read
	// counted is where the counters come from: "statistics" or "metrics"; empty: there are none.
	counted string
}

func (s *sample) of(v version) *state {
	if s.versions[v] == nil {
		s.versions[v] = &state{}
	}
	return s.versions[v]
}

// index adds the states of the versions. An entry without a version is of a model that has none.
func (s *sample) index(all []*client.IndexEntry) {
	for _, e := range all {
		st := s.of(version{e.GetName(), e.GetVersion()})
		st.State, st.Reason = e.GetState(), e.GetReason()
	}
}

// statistics adds the counters. Models of the same name in several namespaces are added.
func (s *sample) statistics(all []*client.ModelStatistics) {
	s.counted = "statistics"
	for _, m := range all {
		st := s.of(version{m.GetName(), m.GetVersion()})
		i := m.GetInferenceStats()
		st.counted = true
		c := &st.counters
		type duration interface {
			GetCount() uint64
			GetNs() uint64
		}
		for _, e := range []struct {
			to   *events
			from duration
		}{
			{&c.success, i.GetSuccess()},
			{&c.failure, i.GetFail()},
			{&c.queue, i.GetQueue()},
			{&c.input, i.GetComputeInput()},
			{&c.infer, i.GetComputeInfer()},
			{&c.output, i.GetComputeOutput()},
			{&c.hit, i.GetCacheHit()},
			{&c.miss, i.GetCacheMiss()},
		} {
			e.to.add(events{float64(e.from.GetCount()), float64(e.from.GetNs())})
		}
		c.rows += float64(m.GetInferenceCount())
		c.batches += float64(m.GetExecutionCount())
	}
}

// page adds the gauges of a page of metrics and, without statistics, the counters.
func (s *sample) page(p *scrape.Page) {
	each := func(name string, do func(st *state, value float64)) {
		p.Each(name, func(labels scrape.Labels, value float64) {
			if labels["model"] != "" {
				do(s.of(version{labels["model"], labels["version"]}), value)
			}
		})
	}
	count := func(name string, do func(c *counters, value float64)) {
		p.Each(name, func(labels scrape.Labels, value float64) {
			if v := (version{labels["model"], labels["version"]}); v.Model != "" {
				s.of(v).counted = true
				do(&s.of(v).counters, value)
			}
		})
	}
	each("nv_inference_pending_request_count", func(st *state, n float64) { st.add(&st.pending, n) })
	each("triton_inference_in_flight_request_count", func(st *state, n float64) { st.add(&st.inFlight, n) })
	p.Each("triton_model_memory_bytes", func(labels scrape.Labels, n float64) {
		if labels["kind"] == "measured" {
			st := s.of(version{labels["model"], labels["version"]})
			st.add(&st.bytes, n)
		}
	})
	s.machine = machineOf(p)
	if s.counted != "" {
		return
	}
	s.counted = "metrics"
	count("nv_inference_request_success", func(c *counters, n float64) {
		for _, e := range []*events{&c.success, &c.queue, &c.input, &c.infer, &c.output} {
			e.n += n
		}
	})
	count("nv_inference_request_failure", func(c *counters, n float64) { c.failure.n += n })
	count("nv_inference_count", func(c *counters, n float64) { c.rows += n })
	count("nv_inference_exec_count", func(c *counters, n float64) { c.batches += n })
	count("nv_inference_request_duration_us", func(c *counters, us float64) { c.success.ns += 1000 * us })
	count("nv_inference_queue_duration_us", func(c *counters, us float64) { c.queue.ns += 1000 * us })
	count("nv_inference_compute_input_duration_us", func(c *counters, us float64) { c.input.ns += 1000 * us })
	count("nv_inference_compute_infer_duration_us", func(c *counters, us float64) { c.infer.ns += 1000 * us })
	count("nv_inference_compute_output_duration_us", func(c *counters, us float64) { c.output.ns += 1000 * us })
	count("nv_cache_num_hits_per_model", func(c *counters, n float64) { c.hit.n += n })
	count("nv_cache_num_misses_per_model", func(c *counters, n float64) { c.miss.n += n })
}
