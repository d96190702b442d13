package server

import (
	"runtime/metrics"

	"github.com/prometheus/client_golang/prometheus"

	"triton/pkg/tensor"
	"triton/server/backend/python"
	"triton/server/memory"
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

// requestMemoryMetrics collects the metrics of the memory for requests.
type requestMemoryMetrics struct{ *memory.Budget }

var (
	requestLimit = prometheus.NewDesc("triton_request_memory_limit_bytes",
		"Memory that requests and their replies may use, in bytes", nil, nil)
	requestUsed = prometheus.NewDesc("triton_request_memory_used_bytes",
		"Memory that requests and their replies use, in bytes, by kind", []string{"kind"}, nil)
	requestRefused = prometheus.NewDesc("triton_request_memory_refused_total",
		"Number of times that memory was refused to a request, by kind", []string{"kind"}, nil)
	streamsCancelled = prometheus.NewDesc("triton_request_memory_streams_cancelled_total",
		"Number of streams that were cancelled because their clients did not read and the memory was short", nil, nil)
	callersRefused = prometheus.NewDesc("triton_request_memory_callers_refused_total",
		"Number of times that memory was refused because the caller held its share", nil, nil)
	uploadsStopped = prometheus.NewDesc("triton_request_memory_uploads_stopped_total",
		"Number of requests that were ended because they arrived slowly and the memory was short", nil, nil)
)

// Describe implements prometheus.Collector.
func (requestMemoryMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requestLimit, requestUsed, requestRefused, callersRefused, streamsCancelled, uploadsStopped} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m requestMemoryMetrics) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.MustNewConstMetric(requestLimit, prometheus.GaugeValue, float64(m.Limit()))
	for _, k := range memory.Kinds {
		to <- prometheus.MustNewConstMetric(requestUsed, prometheus.GaugeValue, float64(m.Used(k)), k.String())
		to <- prometheus.MustNewConstMetric(requestRefused, prometheus.CounterValue, float64(m.Refused(k)), k.String())
	}
	to <- prometheus.MustNewConstMetric(callersRefused, prometheus.CounterValue, float64(m.CallersRefused()))
	to <- prometheus.MustNewConstMetric(uploadsStopped, prometheus.CounterValue, float64(m.Stopped()))
	to <- prometheus.MustNewConstMetric(streamsCancelled, prometheus.CounterValue, float64(m.Cancelled()))
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
