package server

import (
	"fmt"
	"log/slog"

	"triton/pkg/gpu"
)

// gpuMeter reads the metrics of one GPU.
type gpuMeter struct {
	view       gpu.View
	device     gpu.Device
	log        *slog.Logger
	failures   map[string]int // consecutive failures by group
	lastEnergy float64        // energy, joules; 0: not read yet
	energy     float64        // since the first reading, joules
}

// maxFailures is the number of consecutive failures after which a group of values of a
// GPU is not read any more.
const maxFailures = 3

func newGPUMeters(g gpus, log *slog.Logger) []*gpuMeter {
	var all []*gpuMeter
	for _, d := range g.devices() {
		log.Info(fmt.Sprintf("Collecting metrics for GPU %d: %s", d.Index, d.Name))
		all = append(all, &gpuMeter{view: g.view, device: d, log: log, failures: map[string]int{}})
	}
	return all
}

// read appends the GPU's values. A value that cannot be read is zero, so that every GPU
// has all series.
func (m *gpuMeter) read(all []reading) []reading {
	r := m.view.Read(m.device)
	uuid := m.device.UUID
	used, total := r.MemoryUsed, r.MemoryTotal
	if !m.recordResult("memory usage", used.Known && total.Known) {
		used.Value, total.Value = 0, 0
	}
	if m.recordResult("energy consumption", r.Energy.Known) {
		if m.lastEnergy != 0 {
			m.energy += max(r.Energy.Value-m.lastEnergy, 0)
		}
		m.lastEnergy = r.Energy.Value
	}
	return append(all,
		reading{gpuUtil, uuid, m.value("GPU utilization", r.Utilization)},
		reading{gpuTotal, uuid, float64(total.Value)},
		reading{gpuUsed, uuid, float64(used.Value)},
		reading{gpuPower, uuid, m.value("power usage", r.Power)},
		reading{gpuLimit, uuid, m.value("power limit", r.PowerLimit)},
		reading{gpuEnergy, uuid, m.energy})
}

func (m *gpuMeter) value(what string, v gpu.Optional[float64]) float64 {
	if !m.recordResult(what, v.Known) {
		return 0
	}
	return v.Value
}

// recordResult counts consecutive failures and reports whether a group's values are
// valid.
func (m *gpuMeter) recordResult(what string, known bool) bool {
	switch {
	case m.failures[what] >= maxFailures:
		return false
	case known:
		m.failures[what] = 0
		return true
	}
	m.failures[what]++
	m.log.Warn(fmt.Sprintf("Unable to get %s for GPU %d", what, m.device.Index))
	return false
}
