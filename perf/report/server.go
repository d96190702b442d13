package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"triton/perf"
)

// anyCache reports whether a model or one of its composing models uses the response cache,
// which changes the layout of all blocks.
func anyCache(s *perf.ServerStats) bool {
	return s.Cache || slices.ContainsFunc(s.Composing, func(p perf.ServerStats) bool { return anyCache(&p) })
}

// serverMicros are averages in whole microseconds.
type serverMicros struct {
	total, queue                  uint64
	input, infer, output, compute uint64
	hit, miss                     uint64
	cacheTime                     uint64 // hits, misses and compute together
}

func average(d perf.Statistic) uint64 { return averageOf(d.Ns, d.Count) }

func averageOf(ns, count uint64) uint64 {
	if count == 0 {
		return 0
	}
	return ns / (count * 1000)
}

func microsOf(s *perf.ServerStats) serverMicros {
	compute := s.ComputeInput.Ns + s.ComputeInfer.Ns + s.ComputeOutput.Ns
	return serverMicros{
		total: average(s.Success), queue: average(s.Queue),
		input: average(s.ComputeInput), infer: average(s.ComputeInfer), output: average(s.ComputeOutput),
		compute: averageOf(compute, s.ComputeInput.Count),
		hit:     average(s.CacheHit), miss: average(s.CacheMiss),
		cacheTime: averageOf(s.CacheHit.Ns+s.CacheMiss.Ns+compute, s.ComputeInput.Count+s.CacheHit.Count),
	}
}

// composingMicros sums the averages of the composing models that are not ensembles.
func composingMicros(s *perf.ServerStats) serverMicros {
	var sum serverMicros
	for i := range s.Composing {
		m := microsOf(&s.Composing[i])
		if s.Composing[i].Ensemble {
			m = composingMicros(&s.Composing[i])
		}
		sum.queue += m.queue
		sum.compute += m.compute
		sum.hit += m.hit
		sum.miss += m.miss
		sum.cacheTime += m.cacheTime
	}
	return sum
}

// subtract returns total minus the values, at least 0.
func subtract(total uint64, values ...uint64) uint64 {
	for _, v := range values {
		if v > total {
			return 0
		}
		total -= v
	}
	return total
}

// serverBlock writes the block of one model, indented. cache is set when a model
// of the run uses the response cache.
func (c *Console) serverBlock(s *perf.ServerStats, indent int, cache bool) {
	in := strings.Repeat(" ", indent+2)
	if s.Success.Count == 0 {
		c.printf("%sRequest count: 0\n", in)
		return
	}
	c.printf("%sInference count: %d\n%sExecution count: %d\n", in, s.Inferences, in, s.Executions)
	if cache {
		c.printf("%sCache hit count: %d\n%sCache miss count: %d\n", in, s.CacheHit.Count, in, s.CacheMiss.Count)
	}
	c.printf("%sSuccessful request count: %d\n%sAvg request latency: %d usec", in, s.Success.Count, in, average(s.Success))
	if s.Ensemble {
		c.ensemble(s, indent, cache)
		return
	}
	m := microsOf(s)
	if cache {
		c.cached(s, m, indent)
		return
	}
	c.printf(" (overhead %d usec + queue %d usec + compute input %d usec + compute infer %d usec + compute output %d usec)\n\n",
		subtract(m.total, m.queue, m.compute), m.queue, m.input, m.infer, m.output)
}

func (c *Console) cached(s *perf.ServerStats, m serverMicros, indent int) {
	in := strings.Repeat(" ", 2*indent+2)
	c.printf(" (overhead %d usec + queue %d usec + cache hit/miss %d usec)\n", subtract(m.total, m.queue, m.cacheTime), m.queue, m.cacheTime)
	c.printf("%sAverage Cache Hit Latency: %d usec\n", in, m.hit)
	c.printf("%sAverage Cache Miss Latency: %d usec (cache lookup/insertion %d usec + compute input %d usec + compute infer %d usec + compute output %d usec)\n\n",
		in, m.miss+m.compute, m.miss, m.input, m.infer, m.output)
	if !s.Cache && (m.hit != 0 || m.miss != 0) {
		c.note("Response Cache is disabled for model [" + s.Model + "] but cache hit/miss latency is non-zero.")
	}
}

func (c *Console) ensemble(s *perf.ServerStats, indent int, cache bool) {
	sum, total := composingMicros(s), average(s.Success)
	own := microsOf(s)
	switch {
	case !cache:
		c.printf(" (overhead %d usec + queue %d usec + compute %d usec)\n\n", subtract(total, sum.queue, sum.compute), sum.queue, sum.compute)
	default:
		if !s.Cache {
			c.printf(" (overhead %d usec + queue %d usec + cache hit/miss %d usec)", subtract(total, sum.queue, sum.cacheTime), sum.queue, sum.cacheTime)
		}
		in := strings.Repeat(" ", 2*indent+2)
		c.printf("\n%sAverage Cache Hit Latency: %d usec\n", in, sum.hit+own.hit)
		c.printf("%sAverage Cache Miss Latency: %d usec \n\n", in, sum.miss+own.miss+sum.compute)
	}
	in := strings.Repeat(" ", indent)
	c.printf("%sComposing models: \n", in)
	for i := range s.Composing {
		p := &s.Composing[i]
		c.printf("%s%s, version: %s\n", in, p.Model, p.Version)
		c.serverBlock(p, indent+2, cache)
	}
}

// maxGPUs is the number of GPUs above which perf_analyzer prints none.
const maxGPUs = 16

func (c *Console) metrics(g *perf.GPUStats) {
	if g == nil {
		g = &perf.GPUStats{}
	}
	c.printf("  Server Prometheus Metrics: \n")
	if max(len(g.Utilization), len(g.Power), len(g.MemoryUsed), len(g.MemoryTotal)) > maxGPUs {
		c.printf("Too many GPUs on system to print out individual Prometheus metrics, use the CSV output feature to see metrics.\n")
		return
	}
	gauge := func(title, format string, values map[string]float64, scale float64) {
		c.printf("    %s:\n", title)
		for _, id := range slices.Sorted(maps.Keys(values)) {
			c.printf("      %s : "+format+"\n", id, values[id]*scale)
		}
	}
	gauge("Avg GPU Utilization", "%.6g%%", g.Utilization, 100)
	gauge("Avg GPU Power Usage", "%.6g watts", g.Power, 1)
	gauge("Max GPU Memory Usage", "%.0f bytes", g.MemoryUsed, 1)
	gauge("Total GPU Memory", "%.0f bytes", g.MemoryTotal, 1)
}

// serverSplit is the mean time of a request on the server.
type serverSplit struct{ queue, input, infer, output time.Duration }

// serverTimes splits the time of a model, or of the composing models of an ensemble.
func serverTimes(s *perf.ServerStats) serverSplit {
	if s.Ensemble {
		var sum serverSplit
		for i := range s.Composing {
			m := serverTimes(&s.Composing[i])
			sum.queue, sum.input = sum.queue+m.queue, sum.input+m.input
			sum.infer, sum.output = sum.infer+m.infer, sum.output+m.output
		}
		return sum
	}
	mean := func(d perf.Statistic) time.Duration { return time.Duration(d.Ns / max(d.Count, 1)) }
	return serverSplit{mean(s.Queue), mean(s.ComputeInput), mean(s.ComputeInfer), mean(s.ComputeOutput)}
}
