package analyzer

import (
	"fmt"
	"slices"

	"triton/analyzer/search"
	"triton/pkg/gpu"
)

// conclude computes the conclusions from the measurements.
func (r *run) conclude() {
	r.result.Source = r.source()
	r.fit()
	r.capacity()
	r.recommend()
}

// source chooses the kind of memory for the conclusions: GPU memory if the model uses it, by
// process if the driver reports that.
func (r *run) source() Source {
	var all Memory
	for _, v := range r.result.Variants {
		all = all.peak(v.Peak)
	}
	onGPU := r.shared.GetInstanceGroup()[0].GetKind().String() == "KIND_GPU"
	switch {
	case all.GPU.Value > 0:
		// A server without models may use no GPU memory and is then not listed.
		r.result.Base.GPU = gpu.Some(r.result.Base.GPU.Value)
		return GPUProcesses
	case onGPU && all.Devices.Known:
		return GPUDevices
	case all.Host.Known:
		return HostPSS
	}
	return NoSource
}

// fit computes the line of memory over instances from the servers that completed
// all loads.
func (r *run) fit() {
	base, ok := r.result.Bytes(r.result.Base)
	if !ok {
		return
	}
	var samples []search.Sample
	for _, v := range r.result.Variants {
		if b, ok := r.result.Bytes(v.Peak); ok && v.Complete {
			samples = append(samples, search.Sample{Instances: v.Instances, Bytes: int64(b) - int64(base)})
		}
	}
	if line, ok := search.Fit(samples); ok {
		r.result.Fit = &line
	}
}

func (r *run) capacity() {
	c := &r.result.Capacity
	c.Memory, c.Origin = r.available()
	c.Usable = uint64(float64(c.Memory) * (1 - r.Headroom))
	base, ok := r.result.Bytes(r.result.Base)
	if r.result.Fit == nil || c.Memory == 0 || !ok {
		return
	}
	c.Known = true
	c.Instances, c.Limited = search.Capacity(int64(c.Usable), int64(base), *r.result.Fit)
}

// available returns the memory that the server may use, and its source.
func (r *run) available() (uint64, string) {
	if r.Memory > 0 {
		return r.Memory, "as given"
	}
	switch r.result.Source {
	case GPUProcesses, GPUDevices:
		return r.freeAtStart(), "free on the GPUs at the start"
	case HostPSS:
		limit, origin, err := r.Host.Limit()
		if err != nil {
			r.warn("the memory of this machine is not known: %v", err)
			return 0, ""
		}
		return limit, origin
	}
	return 0, ""
}

// freeAtStart returns the memory of all devices that was free at the start.
func (r *run) freeAtStart() uint64 {
	var sum uint64
	for _, d := range r.GPU.Devices() {
		now := r.GPU.Read(d)
		if now.MemoryTotal.Known && now.MemoryUsed.Known && now.MemoryFree.Known {
			free := now.MemoryFree.Value + now.MemoryUsed.Value // total less the driver's own
			sum += free - min(free, r.meter.usedAtStart[d.UUID])
		}
	}
	return sum
}

func (r *run) recommend() {
	var outcomes []search.Outcome
	var at []int // the point of each outcome
	for i, p := range r.result.Points {
		if fits, known := r.result.Fits(p); p.Err != nil || known && !fits {
			continue
		}
		bytes, _ := r.result.Bytes(p.Memory)
		outcomes = append(outcomes, search.Outcome{
			Instances: p.Instances, Load: p.Load, Throughput: p.Throughput, P99: p.P99, Bytes: int64(bytes),
		})
		at = append(at, i)
	}
	if len(outcomes) == 0 {
		r.result.Reason = "no setting was measured that fits in memory"
		if !slices.ContainsFunc(r.result.Points, func(p Point) bool { return p.Err == nil }) {
			r.result.Reason = "no setting could be measured"
		}
		return
	}
	limits := search.Limits{P99: r.LatencyBudget, Tolerance: r.Tolerance}
	i := search.Recommend(outcomes, limits)
	if i < 0 {
		r.result.Reason = r.tooSlow(outcomes)
		return
	}
	r.result.Recommended = at[i]
	r.result.Config = variantConfig(r.shared, outcomes[i].Instances)
	r.result.Reason = r.explain(outcomes, limits)
	if !r.result.Points[at[i]].Stable {
		r.warn("the measurement of the recommended setting was not stable; measure longer to be sure")
	}
}

// explain returns the reason of the recommendation.
func (r *run) explain(outcomes []search.Outcome, limits search.Limits) string {
	meeting := 0
	for _, o := range outcomes {
		if limits.Allow(o) {
			meeting++
		}
	}
	text := fmt.Sprintf("fewest instances within %.0f %% of the best throughput", 100*r.Tolerance)
	if r.LatencyBudget > 0 {
		text += fmt.Sprintf(" at a p99 latency of at most %v", r.LatencyBudget)
	}
	return fmt.Sprintf("%s (%d of %d settings meet the limits)", text, meeting, len(r.result.Points))
}

// tooSlow returns the reason when no setting meets the latency budget.
func (r *run) tooSlow(outcomes []search.Outcome) string {
	lowest := outcomes[0].P99
	for _, o := range outcomes {
		lowest = min(lowest, o.P99)
	}
	return fmt.Sprintf("no setting meets the latency budget of %v; the lowest p99 measured is %v", r.LatencyBudget, lowest)
}

func (r *run) warn(format string, args ...any) {
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf(format, args...))
}
