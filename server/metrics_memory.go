package server

import (
	"runtime/metrics"

	"github.com/prometheus/client_golang/prometheus"

	"triton/pkg/tensor"
	"triton/server/backend/python"
)

// Counters of this server's own memory traffic. They are read at a scrape.
const (
	copiedName      = "triton_tensor_bytes_copied_total"
	copiedHelp      = "Bytes of tensors copied by the server between a transport and a model"
	allocationsName = "triton_heap_allocations_total"
	allocationsHelp = "Number of objects allocated on the Go heap"
)

func memoryCounters(pool *tensor.Pool) []prometheus.Collector {
	copied := func(to string, n func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: copiedName, Help: copiedHelp, ConstLabels: prometheus.Labels{"to": to},
		}, func() float64 { return float64(n()) })
	}
	return []prometheus.Collector{
		copied("model", func() int64 { n, _ := pool.Copied(); return n }),
		copied("client", func() int64 { _, n := pool.Copied(); return n }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: allocationsName, Help: allocationsHelp}, heapAllocations),
	}
}

// Gauges of the memory that the processes of Python models share with this server. Triton has
// none.
var (
	pythonTotal = prometheus.NewDesc("triton_python_shared_memory_total_bytes",
		"Size of the memory that the server shares with the processes of Python models, in bytes", nil, nil)
	pythonUsed = prometheus.NewDesc("triton_python_shared_memory_used_bytes",
		"Part of the memory shared with the processes of Python models that tensors use, in bytes", nil, nil)
)

// pythonMemory collects the gauges of a Python backend, from its first model on.
type pythonMemory struct{ *python.Backend }

// Describe implements prometheus.Collector.
func (pythonMemory) Describe(to chan<- *prometheus.Desc) { to <- pythonTotal; to <- pythonUsed }

// Collect implements prometheus.Collector.
func (m pythonMemory) Collect(to chan<- prometheus.Metric) {
	total, used := m.SharedMemory()
	if total == 0 {
		return
	}
	to <- prometheus.MustNewConstMetric(pythonTotal, prometheus.GaugeValue, float64(total))
	to <- prometheus.MustNewConstMetric(pythonUsed, prometheus.GaugeValue, float64(used))
}

func heapAllocations() float64 {
	all := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}}
	metrics.Read(all)
	return float64(all[0].Value.Uint64() + all[1].Value.Uint64())
}
