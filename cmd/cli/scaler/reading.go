package scaler

import (
	"time"

	"triton/pkg/scrape"
)

// counts are the metrics of a version of a model.
type counts struct {
	Pending, InFlight float64
	Success, Failure  float64 // since the start
	QueueMicros       float64 // of the successful requests
}

// reading is what a replica says at a time.
type reading struct {
	at time.Time
	// versions has the counts by model and version.
	versions map[[2]string]*counts
	// hasInFlight reports whether the server counts requests in flight; NVIDIA's does not.
	hasInFlight bool
	// Waiting is the number of requests that wait for the load of their model.
	Waiting float64
}

// newReading returns the metrics of a page that was read at a time.
func newReading(p *scrape.Page, at time.Time) *reading {
	r := &reading{at: at, versions: map[[2]string]*counts{}, Waiting: p.Sum("triton_model_demand_waiting_requests", nil)}
	r.hasInFlight = p.Has("triton_inference_in_flight_request_count") || !p.Has("nv_inference_request_success")
	for name, of := range map[string]func(c *counts) *float64{
		"nv_inference_pending_request_count":       func(c *counts) *float64 { return &c.Pending },
		"triton_inference_in_flight_request_count": func(c *counts) *float64 { return &c.InFlight },
		"nv_inference_request_success":             func(c *counts) *float64 { return &c.Success },
		"nv_inference_request_failure":             func(c *counts) *float64 { return &c.Failure },
		"nv_inference_queue_duration_us":           func(c *counts) *float64 { return &c.QueueMicros },
	} {
		p.Each(name, func(labels scrape.Labels, v float64) {
			key := [2]string{labels["model"], labels["version"]}
			if key[0] == "" {
				return
			}
			if r.versions[key] == nil {
				r.versions[key] = &counts{}
			}
			*of(r.versions[key]) += v
		})
	}
	return r
}

// each calls do for the versions that a trigger is about.
func (r *reading) each(t *trigger, do func(key string, c *counts)) {
	for key, c := range r.versions {
		if (t.model == "" || key[0] == t.model) && (t.version == "" || key[1] == t.version) {
			do(key[0]+"\x00"+key[1], c)
		}
	}
}

// since returns the requests and the microseconds in queues that a trigger is about, between two
// readings. Counters that became smaller were counted from zero: the version was loaded again.
func (r *reading) since(before *reading, t *trigger) (success, failure, micros float64) {
	earlier := map[string]counts{}
	before.each(t, func(key string, c *counts) { earlier[key] = *c })
	r.each(t, func(key string, c *counts) {
		e := earlier[key]
		if c.Success < e.Success || c.Failure < e.Failure || c.QueueMicros < e.QueueMicros {
			e = counts{}
		}
		success += c.Success - e.Success
		failure += c.Failure - e.Failure
		micros += c.QueueMicros - e.QueueMicros
	})
	return success, failure, micros
}
