package server

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"time"

	"triton/pkg/gpu"
	"triton/server/repository"
	"triton/server/repository/ondemand"
)

// OnDemand configures the loading of models by requests, in auto control.
type OnDemand struct {
	// Budgets are the memory for models, each as ParseBudget reads it. A device without one gets
	// most of its free memory.
	Budgets []string
	// KeepAlive is the time after which an idle model is unloaded; negative: never.
	KeepAlive time.Duration
	// Timeout is the longest time that a request waits for a load.
	Timeout time.Duration
	// MaxWaiting is the number of requests that may wait for loads at a time.
	MaxWaiting int
	// Pinned are the models that are loaded at the start and never unloaded to make room.
	Pinned []string
}

// Budget is the memory for models on one device.
type Budget struct {
	Device ondemand.Device
	Bytes  int64
	// Share of the device's memory, instead of Bytes; 0: none.
	Share float64
}

// The shares of the memory that is free at the start, for devices without a budget. The rest is for
// requests, and for what grows without being a model's.
const (
	hostShare = 0.8
	gpuShare  = 0.9
)

var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
	{"", 1},
}

// ParseBudget reads [<device>=]<amount>: the device is cpu (the default) or gpu:<index>, the amount
// a number of bytes with or without a unit such as MiB, or a share of all memory such as 60%.
func ParseBudget(text string) (Budget, error) {
	b := Budget{Device: ondemand.Host}
	amount := text
	if device, rest, ok := strings.Cut(text, "="); ok {
		amount = rest
		index, isGPU := strings.CutPrefix(device, "gpu:")
		n, err := strconv.ParseUint(index, 10, 16)
		switch {
		case isGPU && err == nil:
			b.Device = ondemand.GPU(int(n))
		case device != string(ondemand.Host):
			return Budget{}, fmt.Errorf("unknown device '%s' in memory budget '%s', expects cpu or gpu:<index>", device, text)
		}
	}
	wrong := fmt.Errorf("invalid memory budget '%s', expects [<device>=]<amount> such as 8GiB, 60%% or gpu:0=20GiB", text)
	if share, ok := strings.CutSuffix(amount, "%"); ok {
		n, err := strconv.ParseFloat(share, 64)
		if err != nil || !(n > 0 && n <= 100) {
			return Budget{}, wrong
		}
		b.Share = n / 100
		return b, nil
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(amount, u.name)
		if !ok || u.name == "B" && strings.TrimLeft(number, "0123456789. ") != "" {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n > 0 && n*u.bytes < math.MaxInt64) {
			return Budget{}, wrong
		}
		b.Bytes = int64(n * u.bytes)
		return b, nil
	}
	return Budget{}, wrong
}

// budget returns the memory for models by device.
func (s *Server) budget(root fs.FS) ondemand.Bytes {
	all := ondemand.Bytes{}
	if free := availableMemory(root); free > 0 {
		all[ondemand.Host] = int64(hostShare * float64(free))
	}
	total := ondemand.Bytes{ondemand.Host: memoryLimit(root)}
	for _, d := range s.gpus.devices() {
		if r := s.gpus.read(d); r.MemoryTotal.Known && r.MemoryUsed.Known {
			at := ondemand.GPU(d.Index)
			total[at] = int64(r.MemoryTotal.Value)
			all[at] = int64(gpuShare * float64(r.MemoryTotal.Value-min(r.MemoryUsed.Value, r.MemoryTotal.Value)))
		}
	}
	for _, text := range s.opts.Models.OnDemand.Budgets {
		b, _ := ParseBudget(text) // New has checked it
		all[b.Device] = b.Bytes
		if b.Share > 0 {
			all[b.Device] = int64(b.Share * float64(total[b.Device]))
		}
	}
	return all
}

// demand returns the options of the repository for loading on demand.
func (s *Server) demand() repository.Demand {
	o := &s.opts.Models
	if o.Control != repository.ControlAuto {
		return repository.Demand{}
	}
	return repository.Demand{
		Budget: s.budget(rootFS()), KeepAlive: o.OnDemand.KeepAlive, Timeout: o.OnDemand.Timeout,
		MaxWaiting: o.OnDemand.MaxWaiting, Pinned: o.OnDemand.Pinned,
		ByState: s.opts.State.From != "",
	}
}

// validate returns the mistakes in the settings of loading on demand.
func (m *Models) validate() error {
	if m.Control != repository.ControlAuto {
		return nil
	}
	var errs []error
	for _, text := range m.OnDemand.Budgets {
		_, err := ParseBudget(text)
		errs = append(errs, err)
	}
	if m.OnDemand.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("timeout of loads on demand is %v, must be positive", m.OnDemand.Timeout))
	}
	if m.OnDemand.MaxWaiting < 1 {
		errs = append(errs, fmt.Errorf("number of requests that may wait for loads is %d, must be at least 1", m.OnDemand.MaxWaiting))
	}
	return errors.Join(errs...)
}

// processMemory returns the memory of a process on a GPU.
func (g gpus) processMemory(device, pid int) (int64, bool) {
	for _, d := range g.devices() {
		if d.Index != device {
			continue
		}
		if d.Instance != "" {
			d = gpu.Device{UUID: d.Instance}
		}
		all, err := g.view.Processes(d)
		if err != nil {
			return 0, false
		}
		for _, p := range all {
			if p.PID == pid {
				return int64(p.Memory.Value), p.Memory.Known
			}
		}
		return 0, true // it has none yet
	}
	return 0, false
}

// read returns the values of a GPU, or of the MIG instance that the process has.
func (g gpus) read(d gpu.Device) gpu.Reading {
	if d.Instance != "" {
		return g.view.Read(gpu.Device{UUID: d.Instance})
	}
	return g.view.Read(d)
}
