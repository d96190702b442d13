package report

import (
	"encoding/json"
	"io"
	"time"

	"triton/analyzer"
)

// JSON prints the whole result.
func JSON(w io.Writer, r *analyzer.Result) error {
	doc := document{
		Schema: 1, Model: r.Model, Started: r.Started, MemorySource: string(r.Source), Batch: r.Batch, Base: memoryOf(r, r.Base),
		Reason: r.Reason, Config: string(r.Config), Warnings: r.Warnings, Interrupted: r.Interrupted,
		Servers: []server{}, Points: []point{},
	}
	for _, v := range r.Variants {
		doc.Servers = append(doc.Servers, server{v.Instances, memoryOf(r, v.Loaded), memoryOf(r, v.Peak), v.Complete, text(v.Err)})
	}
	for i, p := range r.Points {
		doc.Points = append(doc.Points, pointOf(r, i, p))
	}
	if f := r.Fit; f != nil {
		doc.Fit = &fit{f.PerModel, f.PerInstance, f.MaxPerInstance, f.Residual}
	}
	if c := r.Capacity; c.Memory > 0 {
		doc.Capacity = &capacity{MemoryBytes: c.Memory, UsableBytes: c.Usable, Origin: c.Origin}
		if c.Known && c.Limited {
			doc.Capacity.Instances = &c.Instances
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

type (
	document struct {
		Schema       int       `json:"schema"`
		Model        string    `json:"model"`
		Started      time.Time `json:"started"`
		MemorySource string    `json:"memory_source"`
		Batch        int       `json:"exercise_batch"`
		Base         memory    `json:"base"`
		Servers      []server  `json:"servers"`
		Points       []point   `json:"points"`
		Fit          *fit      `json:"fit,omitempty"`
		Capacity     *capacity `json:"capacity,omitempty"`
		Reason       string    `json:"reason"`
		Config       string    `json:"config,omitempty"`
		Warnings     []string  `json:"warnings,omitempty"`
		Interrupted  bool      `json:"interrupted"`
	}
	memory struct {
		Bytes   *uint64 `json:"bytes,omitempty"` // of memory_source
		HostPSS *uint64 `json:"host_pss_bytes,omitempty"`
		HostRSS *uint64 `json:"host_rss_bytes,omitempty"`
		GPU     *uint64 `json:"gpu_bytes,omitempty"`
		Devices *uint64 `json:"gpu_devices_bytes,omitempty"`
	}
	server struct {
		Instances int    `json:"instances"`
		Loaded    memory `json:"loaded"`
		Peak      memory `json:"peak"`
		Complete  bool   `json:"complete"`
		Error     string `json:"error,omitempty"`
	}
	point struct {
		Instances   int      `json:"instances"`
		Batch       int      `json:"batch"`
		Concurrency int      `json:"concurrency"`
		Requests    int      `json:"requests"`
		Throughput  float64  `json:"throughput"`
		Latency     *latency `json:"latency_ms,omitempty"`
		Stable      bool     `json:"stable"`
		Memory      memory   `json:"memory"`
		Recommended bool     `json:"recommended,omitempty"`
		Error       string   `json:"error,omitempty"`
	}
	latency struct {
		Avg float64 `json:"avg"`
		P50 float64 `json:"p50"`
		P90 float64 `json:"p90"`
		P95 float64 `json:"p95"`
		P99 float64 `json:"p99"`
	}
	fit struct {
		PerModel       float64 `json:"per_model_bytes"`
		PerInstance    float64 `json:"per_instance_bytes"`
		MaxPerInstance float64 `json:"max_per_instance_bytes"`
		Residual       float64 `json:"residual_bytes"`
	}
	capacity struct {
		MemoryBytes uint64 `json:"memory_bytes"`
		UsableBytes uint64 `json:"usable_bytes"`
		Origin      string `json:"origin"`
		Instances   *int   `json:"instances,omitempty"`
	}
)

func pointOf(r *analyzer.Result, i int, p analyzer.Point) point {
	out := point{
		Instances: p.Instances, Batch: p.Batch, Concurrency: p.Concurrency,
		Memory: memoryOf(r, p.Memory), Recommended: i == r.Recommended, Error: text(p.Err),
	}
	if p.Err == nil {
		out.Requests, out.Throughput, out.Stable = p.Requests, p.Throughput, p.Stable
		out.Latency = &latency{milliseconds(p.Avg), milliseconds(p.P50), milliseconds(p.P90), milliseconds(p.P95), milliseconds(p.P99)}
	}
	return out
}

func memoryOf(r *analyzer.Result, m analyzer.Memory) memory {
	known := func(v uint64, ok bool) *uint64 {
		if !ok {
			return nil
		}
		return &v
	}
	return memory{
		Bytes:   known(r.Bytes(m)),
		HostPSS: known(m.Host.Value.PSS, m.Host.Known),
		HostRSS: known(m.Host.Value.RSS, m.Host.Known),
		GPU:     known(m.GPU.Value, m.GPU.Known),
		Devices: known(m.Devices.Value, m.Devices.Known),
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
