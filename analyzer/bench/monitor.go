// Metrics of devices and of the host are read while load runs: from the driver, from a server's metrics page and
// from the kernel.

package bench

import (
	"context"
	"sync"
	"time"

	"triton/analyzer/trial"
)

// Reading is what a source reports at one moment, or a summary of several.
type Reading struct {
	GPUs map[string]trial.Values // by UUID
	Host trial.Values
}

// Source is a source of readings.
type Source struct {
	Read func(ctx context.Context) (Reading, error)
	// Every is the time between two readings.
	Every time.Duration
}

// Watch reads sources until it is stopped.
type Watch struct {
	stop context.CancelFunc
	wg   sync.WaitGroup
	mu   struct {
		sync.Mutex
		gpus map[string]summary
		host summary
		errs []error
	}
}

// StartWatch starts to read the sources, each at once and then periodically. Stop must be called.
func StartWatch(ctx context.Context, sources ...Source) *Watch {
	ctx, stop := context.WithCancel(ctx)
	w := &Watch{stop: stop}
	w.mu.gpus, w.mu.host = map[string]summary{}, summary{}
	for _, s := range sources {
		w.wg.Go(func() { w.read(ctx, s) })
	}
	return w
}

func (w *Watch) read(ctx context.Context, s Source) {
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for failed := false; ; {
		r, err := s.Read(ctx)
		w.mu.Lock()
		if err == nil {
			for id, v := range r.GPUs {
				if w.mu.gpus[id] == nil {
					w.mu.gpus[id] = summary{}
				}
				w.mu.gpus[id].add(v)
			}
			w.mu.host.add(r.Host)
		} else if !failed && ctx.Err() == nil {
			failed = true
			w.mu.errs = append(w.mu.errs, err)
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Stop ends the readings and returns their summary, and the first error of each source that had one:
// means of utilization and power, the largest value of everything else.
func (w *Watch) Stop() (Reading, []error) {
	w.stop()
	w.wg.Wait()
	r := Reading{GPUs: map[string]trial.Values{}, Host: w.mu.host.values()}
	for id, s := range w.mu.gpus {
		v := s.values()
		total, hasTotal := v[trial.GPUTotalMemory]
		if used, ok := v[trial.GPUUsedMemory]; ok && hasTotal {
			v[trial.GPUFreeMemory] = total - used // at the moment of the largest use
		}
		r.GPUs[id] = v
	}
	return r, w.mu.errs
}

// summary is the state of an aggregation over time by metric.
type summary map[trial.Metric]aggregate

type aggregate struct {
	value float64
	n     int
}

func (s summary) add(v trial.Values) {
	for tag, x := range v {
		a := s[tag]
		a.n++
		switch {
		case tag == trial.GPUUtilization || tag == trial.GPUPower:
			a.value += (x - a.value) / float64(a.n)
		case a.n == 1:
			a.value = x
		default:
			a.value = max(a.value, x)
		}
		s[tag] = a
	}
}

func (s summary) values() trial.Values {
	v := make(trial.Values, len(s))
	for tag, a := range s {
		v[tag] = a.value
	}
	return v
}
