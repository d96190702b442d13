package server

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triton/pkg/tensor"
)

func rootFS() fs.FS { return os.DirFS("/") }

// machine holds the metrics of the machine that are read periodically instead of at a
// scrape.
type machine struct {
	root      fs.FS
	pool      *tensor.Pool
	gpus      []*gpuMeter
	cpu       bool
	interval  time.Duration
	firstRead sync.Once // the first reading, at the first poll or scrape
	latest    atomic.Pointer[[]reading]
	ticks     cpuTicks
	log       *slog.Logger
}

// reading is one value of one metric.
type reading struct {
	*polledMetric
	uuid  string // of a GPU; else empty
	value float64
}

// polledMetric is a metric that is read periodically.
type polledMetric struct {
	name, help string
	kind       prometheus.ValueType
}

var (
	pinnedTotal = &polledMetric{"nv_pinned_memory_pool_total_bytes", "Pinned memory pool total memory size, in bytes", prometheus.GaugeValue}
	pinnedUsed  = &polledMetric{"nv_pinned_memory_pool_used_bytes", "Pinned memory pool used memory size, in bytes", prometheus.GaugeValue}
	gpuUtil     = &polledMetric{"nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0)", prometheus.GaugeValue}
	gpuTotal    = &polledMetric{"nv_gpu_memory_total_bytes", "GPU total memory, in bytes", prometheus.GaugeValue}
	gpuUsed     = &polledMetric{"nv_gpu_memory_used_bytes", "GPU used memory, in bytes", prometheus.GaugeValue}
	gpuPower    = &polledMetric{"nv_gpu_power_usage", "GPU power usage in watts", prometheus.GaugeValue}
	gpuLimit    = &polledMetric{"nv_gpu_power_limit", "GPU power management limit in watts", prometheus.GaugeValue}
	gpuEnergy   = &polledMetric{"nv_energy_consumption", "GPU energy consumption in joules since the Triton Server started", prometheus.CounterValue}
	cpuUtil     = &polledMetric{"nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]", prometheus.GaugeValue}
	cpuTotal    = &polledMetric{"nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes", prometheus.GaugeValue}
	cpuUsed     = &polledMetric{"nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes", prometheus.GaugeValue}

	polledMetrics = []*polledMetric{pinnedTotal, pinnedUsed, gpuUtil, gpuTotal, gpuUsed, gpuPower, gpuLimit, gpuEnergy, cpuUtil, cpuTotal, cpuUsed}
)

// poll reads the metrics until ctx ends.
func (m *machine) poll(ctx context.Context) {
	m.firstRead.Do(m.read)
	tick := time.NewTicker(max(m.interval/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.read()
		}
	}
}

func (m *machine) read() {
	// Triton's pool of pinned memory corresponds to the pool of tensor memory
	// here.
	mapped := m.pool.Bytes()
	all := []reading{{pinnedTotal, "", float64(mapped)}, {pinnedUsed, "", float64(max(mapped-m.pool.Idle(), 0))}}
	for _, g := range m.gpus {
		all = g.read(all)
	}
	if m.cpu {
		all = m.readCPU(all)
	}
	m.latest.Store(&all)
}

func (m *machine) readCPU(all []reading) []reading {
	next, err := readTicks(m.root)
	if err == nil {
		all = append(all, reading{cpuUtil, "", next.utilization(m.ticks)})
		m.ticks = next
	}
	total, used, err := readMemory(m.root)
	if err == nil {
		all = append(all, reading{cpuTotal, "", total}, reading{cpuUsed, "", used})
	}
	return all
}

// Describe sends nothing: the metrics depend on the machine.
func (m *machine) Describe(chan<- *prometheus.Desc) {}

// Collect sends the latest readings.
func (m *machine) Collect(out chan<- prometheus.Metric) {
	m.firstRead.Do(m.read)
	for _, r := range *m.latest.Load() {
		var names, values []string
		if r.uuid != "" {
			names, values = []string{"gpu_uuid"}, []string{r.uuid}
		}
		desc := prometheus.NewDesc(r.name, r.help, names, nil)
		metric, err := prometheus.NewConstMetric(desc, r.kind, r.value, values...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(desc, err)
		}
		out <- metric
	}
}

var _ prometheus.Collector = (*machine)(nil)
