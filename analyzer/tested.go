package analyzer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"triton/analyzer/footprint"
	"triton/analyzer/footprint/sweep"
)

const (
	warmLimit      = 30 * time.Second
	warmExecutions = 2 // of each instance
	// blindExecutions for each instance are sent where the server does not count them.
	blindExecutions = 8
	// quick is the time of a round of requests from which on rounds are not measured in windows.
	quick = 300 * time.Millisecond
)

// tested is a server of the analysis.
type tested struct {
	run       *run
	server    Server
	instances int
	kills     uint64
}

// Memory reads the server and its descendants.
func (v *tested) Memory() (footprint.Reading, error) {
	pids := v.run.Host.Tree(v.server.PID())
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

func (v *tested) warm(ctx context.Context) (footprint.Proof, error) {
	load := sweep.Load{Batch: 1, Concurrency: 2 * v.instances}
	for end := time.Now().Add(warmLimit); ; load.Concurrency *= 2 {
		if err := v.exercise(ctx, load, blindExecutions*v.instances); err != nil {
			return footprint.NoProof, err
		}
		counts, err := v.run.Loader.Executions(ctx, v.server.Endpoints(), v.run.Model)
		switch {
		case ctx.Err() != nil:
			return footprint.NoProof, context.Cause(ctx)
		case err != nil || len(counts) == 0:
			return footprint.Enough, nil
		case len(counts) >= v.instances && slices.Min(counts) >= warmExecutions:
			return footprint.Counted, nil
		case !time.Now().Before(end):
			return footprint.NoProof, nil
		}
		load.Concurrency = min(load.Concurrency, 16*v.instances)
	}
}

func (v *tested) exercise(ctx context.Context, load sweep.Load, requests int) error {
	return v.run.Loader.Exercise(ctx, v.server.Endpoints(), v.run.Model, load, max(requests, load.Concurrency))
}

// Stress runs all instances at once.
func (v *tested) Stress(ctx context.Context, batch int) (work footprint.Work, err error) {
	v.run.Observe(Stressing{v.instances, batch})
	err = v.during(ctx, func(ctx context.Context) error {
		work, err = v.full(ctx, batch)
		return err
	})
	if !slices.Contains(v.run.Space.Batches, batch) || !v.run.inBudget(work.P99) {
		work = footprint.Work{} // only the memory is of interest
	}
	return work, err
}

// Sweep measures the user's settings and returns the best within the latency budget. It is an
// error if all of them fail.
func (v *tested) Sweep(ctx context.Context) (best footprint.Work, err error) {
	err = v.during(ctx, func(ctx context.Context) error {
		best, err = v.sweep(ctx)
		return err
	})
	return best, err
}

func (v *tested) sweep(ctx context.Context) (best footprint.Work, err error) {
	worked := false
	for _, load := range v.run.Space.Loads() {
		p := Point{Instances: v.instances, Load: load}
		p.Measurement, p.Err = v.run.Loader.Measure(ctx, v.server.Endpoints(), v.run.Model, load)
		if ctx.Err() != nil {
			return best, context.Cause(ctx) // an interrupted load gives no point
		}
		if p.Err == nil {
			worked = true
			p.Memory, _ = v.Memory()
			if p.Throughput > best.Throughput && v.run.inBudget(p.P99) {
				best = work(p.Measurement)
			}
		} else {
			err = p.Err
		}
		v.run.result.Points = append(v.run.result.Points, p)
		v.run.Observe(Measured{p})
	}
	if worked {
		return best, nil
	}
	return best, fmt.Errorf("every load failed: %w", err)
}

func work(m Measurement) footprint.Work {
	return footprint.Work{Throughput: m.Throughput, Spread: m.Spread, P99: m.P99}
}

func (r *run) inBudget(p99 time.Duration) bool { return r.LatencyBudget == 0 || p99 <= r.LatencyBudget }

// full makes all instances execute at once. Quick models are measured in windows; of slow ones,
// rounds of requests are sent until the time is over.
func (v *tested) full(ctx context.Context, batch int) (footprint.Work, error) {
	load := sweep.Load{Batch: batch, Concurrency: 2 * v.instances}
	begin := time.Now()
	for sent := 0; ; {
		if err := v.exercise(ctx, load, 2*load.Concurrency); err != nil {
			return footprint.Work{}, err
		}
		sent += 2 * load.Concurrency
		took := time.Since(begin)
		if took < quick {
			m, err := v.run.Loader.Measure(ctx, v.server.Endpoints(), v.run.Model, load)
			return work(m), err
		}
		if took >= v.run.StressTime {
			perSecond := float64(sent) / took.Seconds()
			return footprint.Work{
				Throughput: perSecond * float64(batch),
				Spread:     1 / float64(sent/load.Concurrency),
				P99:        time.Duration(float64(load.Concurrency) / perSecond * float64(time.Second)),
			}, nil
		}
	}
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
	pids := r.Host.Tree(v.server.PID())
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
func whileRunning(ctx context.Context, s Server) (_ context.Context, end func()) {
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
