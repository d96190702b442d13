package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"triton/analyzer/bench"
	"triton/analyzer/memory/footprint"
)

const (
	warmLimit      = 10 * time.Second
	warmRequests   = 4096 // of a round
	warmExecutions = 2    // of each instance
	// blindExecutions for each instance are sent where the server does not count them.
	blindExecutions = 8
	// quick is the time of a round of requests below which the next one is larger.
	quick = 300 * time.Millisecond
)

// tested is a server of the analysis.
type tested struct {
	run       *run
	server    bench.Server
	instances int
	kills     uint64
}

// pids returns the processes of the server and their descendants.
func (v *tested) pids() []int {
	var all []int
	for _, root := range v.server.PIDs() {
		all = append(all, v.run.Host.Tree(root)...)
	}
	return all
}

// Memory reads the server and its descendants.
func (v *tested) Memory() (footprint.Reading, error) {
	pids := v.pids()
	r := footprint.Reading{}
	m, err := v.run.Host.Processes(pids)
	if err == nil {
		r[footprint.Host] = m.Own()
	}
	if v.run.meter != nil {
		for _, read := range []func([]int) map[string]uint64{v.run.meter.Read, v.run.meter.Peaks} {
			for uuid, bytes := range read(pids) {
				r[footprint.Place(uuid)] = max(r[footprint.Place(uuid)], bytes)
			}
		}
	}
	if len(r) == 0 {
		return nil, err
	}
	return r, nil
}

// during runs a function under a context that ends with the server.
func (v *tested) during(ctx context.Context, f func(ctx context.Context) error) error {
	running, end := whileRunning(ctx, v.server)
	err := f(running)
	end()
	if ended := v.server.Err(); ended != nil {
		err = fmt.Errorf("ended under load: %w", ended)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return v.run.classify(err, v.kills, true)
}

// Warm sends requests until every instance has executed twice.
func (v *tested) Warm(ctx context.Context) (proof footprint.Proof, err error) {
	err = v.during(ctx, func(ctx context.Context) error {
		proof, err = v.warm(ctx)
		return err
	})
	if err == nil {
		v.run.keepHost(v)
	}
	return proof, err
}

// warm sends the largest batches, which keep instances busy for longest, so that the next request
// finds another one. More requests in flight than under stress would take memory of their own.
func (v *tested) warm(ctx context.Context) (footprint.Proof, error) {
	load := Load{Batch: v.run.result.Batch, Concurrency: 2 * v.instances}
	requests, sent := 2*warmExecutions*v.instances, 0
	for end := time.Now().Add(warmLimit); ; requests = min(2*requests, warmRequests) {
		if err := v.exercise(ctx, load, requests); err != nil {
			return footprint.NoProof, err
		}
		sent += requests
		counts, err := v.run.Loader.Executions(ctx, v.server.Endpoints(), v.run.Model)
		switch {
		case ctx.Err() != nil:
			return footprint.NoProof, context.Cause(ctx)
		case err != nil || len(counts) == 0:
			if sent >= blindExecutions*v.instances {
				return footprint.Enough, nil
			}
		case len(counts) >= v.instances && slices.Min(counts) >= warmExecutions:
			return footprint.Counted, nil
		case !time.Now().Before(end):
			return footprint.NoProof, nil
		}
	}
}

func (v *tested) exercise(ctx context.Context, load Load, requests int) error {
	return v.run.Loader.Exercise(ctx, v.server.Endpoints(), v.run.Model, load, max(requests, load.Concurrency))
}

// Stress runs all instances at once.
func (v *tested) Stress(ctx context.Context, batch int) error {
	v.run.Observe(Stressing{v.instances, batch})
	return v.during(ctx, func(ctx context.Context) error { return v.stress(ctx, batch) })
}

// stress sends rounds of requests, two for each instance, until the time is over.
func (v *tested) stress(ctx context.Context, batch int) error {
	load := Load{Batch: batch, Concurrency: 2 * v.instances}
	requests := load.Concurrency
	for end := time.Now().Add(v.run.StressTime); ; {
		begin := time.Now()
		if err := v.exercise(ctx, load, requests); err != nil {
			return err
		}
		if !time.Now().Before(end) {
			return nil
		}
		if time.Since(begin) < quick {
			requests *= 4
		}
	}
}

// Work measures the throughput of all instances at the user's largest batch under a load that compares and, once for each
// count, the user's settings. If the load that compares fails or exceeds the latency budget, the best of the settings
// counts instead. It is an error if all of them fail.
func (v *tested) Work(ctx context.Context) (found footprint.Work, err error) {
	if v.run.MemoryOnly {
		return footprint.Work{}, nil
	}
	err = v.during(ctx, func(ctx context.Context) error {
		batches := v.run.Space.BatchSizes()
		compared := Point{Instances: v.instances, Load: Load{Batch: batches[len(batches)-1], Concurrency: v.inFlight()}}
		processors := v.busy()
		compared.Measurement, compared.Err = v.run.Loader.Measure(ctx, v.server.Endpoints(), v.run.Model, compared.Load)
		found.Busy = processors()
		compares, asked := v.run.meetsBudget(compared), v.isAsked()
		if asked || !compares && v.run.LatencyBudget > 0 {
			best, err := v.sweep(ctx, asked, compared)
			if err != nil {
				return err
			}
			if !compares { // else it counts also if a setting was quicker: all servers have it
				compared = best
			}
		}
		if compared.Err != nil {
			return compared.Err
		}
		v.run.result.Compared = append(v.run.result.Compared, compared)
		found.Throughput, found.Low, found.High, found.P99 = compared.Throughput, compared.Low, compared.High, compared.P99
		return nil
	})
	return found, err
}

// busy begins to measure how many processors the server keeps busy, and returns the function that ends it. The
// result is 0 if the system does not say, and for models on GPUs.
func (v *tested) busy() func() float64 {
	pids, begin := v.pids(), time.Now()
	before, err := v.run.Host.CPUTime(pids...)
	return func() float64 {
		after, failed := v.run.Host.CPUTime(pids...)
		if err != nil || failed != nil || v.run.onGPU() {
			return 0
		}
		return float64(after-before) / float64(max(1, time.Since(begin)))
	}
}

// leastInFlight keeps clients and server busy at once with any number of instances.
const leastInFlight = 8

// inFlight returns how many requests compare servers: the same for all counts that the user asks for, since more
// requests at once raise the throughput too.
func (v *tested) inFlight() int {
	return max(leastInFlight, 2*slices.Max(append(v.run.Space.Counts(), v.instances)))
}

// isAsked reports whether the user's settings are to be measured with this count, and have not been.
// With a latency budget they are also what makes other counts comparable.
func (v *tested) isAsked() bool {
	return (v.run.LatencyBudget > 0 || slices.Contains(v.run.Space.Counts(), v.instances)) &&
		!slices.ContainsFunc(v.run.result.Points, func(p Point) bool { return p.Instances == v.instances })
}

// sweep measures the user's settings, but for the one that was measured before, and returns the best within the latency
// budget. keep makes them points of the result.
func (v *tested) sweep(ctx context.Context, keep bool, before Point) (best Point, err error) {
	worked := false
	for _, load := range v.run.Space.Loads() {
		p := Point{Instances: v.instances, Load: load}
		if load == before.Load {
			p.Measurement, p.Err = before.Measurement, before.Err
		} else {
			p.Measurement, p.Err = v.run.Loader.Measure(ctx, v.server.Endpoints(), v.run.Model, load)
		}
		if ctx.Err() != nil {
			return best, context.Cause(ctx) // an interrupted load gives no point
		}
		if p.Err == nil {
			worked = true
			p.Memory, _ = v.Memory()
			if p.Throughput > best.Throughput && v.run.meetsBudget(p) {
				best = p
			}
		} else {
			err = p.Err
		}
		if keep {
			v.run.result.Points = append(v.run.result.Points, p)
			v.run.Observe(Measured{p})
		}
	}
	if worked {
		return best, nil
	}
	return best, fmt.Errorf("every load failed: %w", err)
}

// meetsBudget reports whether a point was measured and is within the latency budget.
func (r *run) meetsBudget(p Point) bool {
	return p.Err == nil && (r.LatencyBudget == 0 || p.P99 <= r.LatencyBudget)
}

// Close stops the server.
func (v *tested) Close() error {
	if err := v.server.Close(); err != nil {
		return v.run.classify(err, v.kills, true)
	}
	return nil
}

// keepHost keeps the kinds of host memory of a server.
func (r *run) keepHost(v *tested) {
	pids := v.pids()
	m, err := r.Host.Processes(pids)
	if err != nil {
		return
	}
	for _, pid := range pids {
		if files, err := r.Host.Files(pid); err == nil {
			m.Files += files
		}
	}
	r.result.Host = append(r.result.Host, HostReading{v.instances, m})
}

// whileRunning returns a context that ends with the server. end releases it.
func whileRunning(ctx context.Context, s bench.Server) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.Done():
			cancel(s.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}
