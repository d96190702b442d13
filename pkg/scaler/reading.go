package scaler

import (
	"time"

	"triton/pkg/scrape"
)

// Counts are the metrics of a version of a model.
type Counts struct {
	Pending, InFlight float64
	Success, Failure  float64 // since the start
	QueueMicros       float64 // of the successful requests
}

// Reading is what a replica says at a time.
type Reading struct {
	at time.Time
	// versions has the counts by model and version.
	versions map[[2]string]*Counts
	// hasInFlight reports whether the server counts requests in flight; NVIDIA's does not.
	hasInFlight bool
	// Waiting is the number of requests that wait for the load of their model.
	Waiting float64
}

// NewReading returns the metrics of a page that was read at a time.
func NewReading(p *scrape.Page, at time.Time) *Reading {
	r := &Reading{at: at, versions: map[[2]string]*Counts{}, Waiting: p.Sum("triton_model_demand_waiting_requests", nil)}
	r.hasInFlight = p.Has("triton_inference_in_flight_request_count") || !p.Has("nv_inference_request_success")
	for name, of := range map[string]func(c *Counts) *float64{
		"nv_inference_pending_request_count":       func(c *Counts) *float64 { return &c.Pending },
		"triton_inference_in_flight_request_count": func(c *Counts) *float64 { return &c.InFlight },
		"nv_inference_request_success":             func(c *Counts) *float64 { return &c.Success },
		"nv_inference_request_failure":             func(c *Counts) *float64 { return &c.Failure },
		"nv_inference_queue_duration_us":           func(c *Counts) *float64 { return &c.QueueMicros },
	} {
		p.Each(name, func(labels scrape.Labels, v float64) {
			key := [2]string{labels["model"], labels["version"]}
			if key[0] == "" {
				return
			}
			if r.versions[key] == nil {
				r.versions[key] = &Counts{}
			}
			*of(r.versions[key]) += v
		})
	}
	return r
}

// each calls do for the versions that a trigger is about.
func (r *Reading) each(t *trigger, do func(key string, c *Counts)) {
	for key, c := range r.versions {
		if (t.model == "" || key[0] == t.model) && (t.version == "" || key[1] == t.version) {
			do(key[0]+"\x00"+key[1], c)
		}
	}
}

// since returns the requests and the microseconds in queues that a trigger is about, between two
// readings. Counters that became smaller were counted from zero: the version was loaded again.
func (r *Reading) since(before *Reading, t *trigger) (success, failure, micros float64) {
	earlier := map[string]Counts{}
	before.each(t, func(key string, c *Counts) { earlier[key] = *c })
	r.each(t, func(key string, c *Counts) {
		e := earlier[key]
		if c.Success < e.Success || c.Failure < e.Failure || c.QueueMicros < e.QueueMicros {
			e = Counts{}
		}
		success += c.Success - e.Success
		failure += c.Failure - e.Failure
		micros += c.QueueMicros - e.QueueMicros
	})
	return success, failure, micros
}
