package top

import (
	"slices"
	"strings"

	"triton/pkg/scrape"
)

// Machine is the load of the server's machine. Values that the server does not tell are nil.
type Machine struct {
	CPUPercent       *float64 `json:"cpu_percent,omitempty"`
	MemoryBytes      *float64 `json:"memory_bytes,omitempty"`
	MemoryTotalBytes *float64 `json:"memory_total_bytes,omitempty"`
	GPUs             []GPU    `json:"gpus,omitempty"`
	// WaitingRequests wait for the load of their model.
	WaitingRequests *float64 `json:"waiting_for_load,omitempty"`
}

// GPU is the load of one GPU.
type GPU struct {
	UUID             string   `json:"uuid"`
	Percent          *float64 `json:"percent,omitempty"`
	MemoryBytes      *float64 `json:"memory_bytes,omitempty"`
	MemoryTotalBytes *float64 `json:"memory_total_bytes,omitempty"`
}

func machineOf(p *scrape.Page) Machine {
	one := func(name string, factor float64) *float64 {
		if !p.Has(name) {
			return nil
		}
		v := factor * p.Sum(name, nil)
		return &v
	}
	m := Machine{
		CPUPercent:  one("nv_cpu_utilization", 100),
		MemoryBytes: one("nv_cpu_memory_used_bytes", 1), MemoryTotalBytes: one("nv_cpu_memory_total_bytes", 1),
		WaitingRequests: one("triton_model_demand_waiting_requests", 1),
	}
	at := map[string]*GPU{}
	each := func(name string, set func(g *GPU, v float64)) {
		p.Each(name, func(labels scrape.Labels, v float64) {
			id := labels["gpu_uuid"]
			if at[id] == nil {
				at[id] = &GPU{UUID: id}
			}
			set(at[id], v)
		})
	}
	each("nv_gpu_utilization", func(g *GPU, v float64) { v *= 100; g.Percent = &v })
	each("nv_gpu_memory_used_bytes", func(g *GPU, v float64) { g.MemoryBytes = &v })
	each("nv_gpu_memory_total_bytes", func(g *GPU, v float64) { g.MemoryTotalBytes = &v })
	for _, g := range at {
		m.GPUs = append(m.GPUs, *g)
	}
	slices.SortFunc(m.GPUs, func(a, b GPU) int { return strings.Compare(a.UUID, b.UUID) })
	return m
}
