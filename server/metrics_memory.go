package server

import (
	"runtime/metrics"

	"github.com/prometheus/client_golang/prometheus"

	"triton/pkg/tensor"
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

func heapAllocations() float64 {
	all := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}}
	metrics.Read(all)
	return float64(all[0].Value.Uint64() + all[1].Value.Uint64())
}
