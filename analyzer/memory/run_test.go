package memory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory"
	"triton/analyzer/memory/footprint"
	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// virtual runs a test with a clock of its own, in parallel with others.
func virtual(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// hostLimit returns what the host says about the instance count.
func hostLimit(t *testing.T, r *memory.Result) footprint.Limit {
	t.Helper()
	for _, l := range r.Footprint.Limits {
		if l.Place == footprint.Host {
			return l
		}
	}
	require.Fail(t, "the host was not read")
	return footprint.Limit{}
}

func TestRun(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		dir := repository(t, plainConfig+"\n# keep me\ninstance_group { kind: KIND_CPU } # one\n")
		c := config(t, dir)
		var measured, steps int
		d := w.deps()
		d.Observe = func(e memory.Event) {
			switch e.(type) {
			case memory.Measured:
				measured++
			case memory.Step:
				steps++
			}
		}
		r, err := memory.Run(t.Context(), c, d)
		require.NoError(t, err)

		require.Equal(t, []int{0, 1, 1, 2, 3, 2, 3}, w.mu.launched, "one by batch size, three counts, two of them twice")
		require.True(t, w.closed())
		require.Equal(t, []memory.Load{{Batch: 1, Concurrency: 1}, {Batch: 1, Concurrency: 2}, {Batch: 4, Concurrency: 1}, {Batch: 4, Concurrency: 2}}, w.mu.loads[1:5], "after all instances ran at once")
		require.Len(t, r.Points, 12)
		require.Equal(t, 12, measured)
		require.Equal(t, 1+2*6, steps)
		for _, a := range r.Footprint.Anchors {
			require.Equal(t, footprint.Counted, a.Proof)
			require.Nil(t, a.Failure)
			require.Empty(t, a.Growing)
		}

		l := hostLimit(t, r)
		require.EqualValues(t, 50*mib, r.Footprint.Base[footprint.Host])
		require.InDelta(t, (60+4*3)*mib, l.Law.PerInstance.Value, 1) // with a batch of four
		require.InDelta(t, 150*mib, l.Law.Base.Value, 1)
		require.EqualValues(t, 1000*mib, l.Room.Usable)
		require.Equal(t, 11, l.Instances) // 1000 = 50 + 100 + 72 * 11.8

		a := r.Footprint.Answer
		require.Equal(t, 2, a.Choice.Instances)
		a.Choice = footprint.Choice{}
		require.Equal(t, footprint.Answer{
			Instances: 2, Status: footprint.ThroughputLimited, Run: true, Memory: 11, MemoryLimits: true, MemoryStatus: footprint.Predicted,
			Useful: 2, UsefulKnown: true,
		}, a, "two limits: eleven fit, the third is of no use")
		require.Equal(t, 2, r.Recommended.Instances)
		require.Equal(t, "more instances are not better beyond noise: 3 instances gave 0.0 % more, and less than 19 % more may be noise; 1 instance gave 50.0 % less", r.Reason)
		require.Equal(t, plainConfig+"\n# keep me\ninstance_group { kind: KIND_CPU count: 2 } # one\n", string(r.Recommended.Config))
		require.Equal(t, memory.HostReading{Instances: 1, Memory: r.Host[0].Memory}, r.Host[0])
		require.EqualValues(t, 90*mib, r.Host[0].Files)

		left, err := os.ReadDir(c.TempDir)
		require.NoError(t, err)
		require.Empty(t, left)
		text, err := os.ReadFile(filepath.Join(dir, "m", "config.pbtxt"))
		require.NoError(t, err)
		require.Contains(t, string(text), "instance_group { kind: KIND_CPU } # one", "the user's file is only read")
	})
}

// TestRecommendationIsAConfiguration checks that larger batches, where they are better, become the
// configuration's, and not advice to the client.
func TestRecommendationIsAConfiguration(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		w.measure = func(k int, l memory.Load) (memory.Measurement, error) {
			items := min(l.Batch, 4) * min(k, l.Concurrency, 2)
			return memory.Measurement{Throughput: 100 * float64(items), P99: time.Duration(l.Concurrency) * time.Millisecond, Stable: true}, nil
		}
		c := config(t, repository(t, plainConfig))
		c.Space.Batches = []int{1, 4, 8}
		r, err := memory.Run(t.Context(), c, w.deps())
		require.NoError(t, err)
		require.Equal(t, 2, r.Recommended.Instances)
		require.Equal(t, 4, r.Recommended.MaxBatchSize, "batches of eight are no quicker")
		require.True(t, r.Recommended.DynamicBatching)
		recommended, err := modelconfig.Parse("config.pbtxt", r.Recommended.Config)
		require.NoError(t, err)
		require.NotNil(t, recommended.GetDynamicBatching())
		require.EqualValues(t, 4, recommended.GetMaxBatchSize())
	})
}

// TestQueueDelay: requests that wait for a batch which the load does not fill are a finding, with what more requests in
// flight gave; requests that wait for an instance are none.
func TestQueueDelay(t *testing.T) {
	const delayed = plainConfig + " dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100000 }"
	virtual(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			config string
			queue  time.Duration // of requests that do not fill a batch
			want   *memory.DelayFinding
		}{
			"the batcher waits": {delayed, 100 * time.Millisecond, &memory.DelayFinding{
				Delay: 100 * time.Millisecond, Size: 4, Load: memory.Load{Batch: 1, Concurrency: 2},
				Waited: 100 * time.Millisecond, Latency: 103 * time.Millisecond, Shorter: 5 * time.Millisecond,
			}},
			"an instance is busy": {delayed, 900 * time.Millisecond, nil},
			"batches are full":    {delayed, time.Millisecond, nil},
			"no delay":            {plainConfig + " dynamic_batching { }", 100 * time.Millisecond, nil},
			"no batcher":          {plainConfig, 100 * time.Millisecond, nil},
		} {
			w := newWorld(t)
			w.measure = func(_ int, l memory.Load) (memory.Measurement, error) {
				m := memory.Measurement{Throughput: 20, Avg: 3 * time.Millisecond, Rows: float64(l.Batch * l.Concurrency), Stable: true}
				if l.Concurrency < 4 {
					m.Queue, m.Avg = c.queue, m.Avg+c.queue
				}
				return m, nil
			}
			cfg := config(t, repository(t, c.config))
			cfg.Space.Batches, cfg.Space.Concurrencies = []int{1}, []int{2}
			r, err := memory.Run(t.Context(), cfg, w.deps())
			require.NoError(t, err)
			if c.want != nil && r.Delay != nil {
				require.Equal(t, 8, r.Delay.Fuller.Concurrency, name)
				r.Delay.Fuller = nil
			}
			require.Equal(t, c.want, r.Delay, name)
		}
	})
}

// TestComparedLoadIsMeasuredOnce: a setting with the load that compares is that measurement.
func TestComparedLoadIsMeasuredOnce(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		c := config(t, repository(t, plainConfig))
		c.Space = memory.Space{Instances: []int{1}, Batches: []int{1}, Concurrencies: []int{8}}
		c.Footprint.MaxInstances = 1
		r, err := memory.Run(t.Context(), c, w.deps())
		require.NoError(t, err)
		require.Len(t, r.Points, 1)
		require.Len(t, w.mu.loads, len(r.Compared))
	})
}

func TestLatencyBudget(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		c := config(t, repository(t, plainConfig))
		c.LatencyBudget = 15 * time.Millisecond // one instance takes 20 at two in flight
		c.Space.Instances, c.Footprint.MaxInstances = []int{1}, 1
		r, err := memory.Run(t.Context(), c, w.deps())
		require.NoError(t, err)
		require.Equal(t, 1, r.Recommended.Point.Concurrency)
		require.Equal(t, footprint.Capped, r.Footprint.Answer.Status)

		// The load that compares takes longer, so the settings compare: in every server.
		require.Equal(t, memory.Load{Batch: 1, Concurrency: 1}, r.Compared[0].Load)
		c.Space.Instances, c.Footprint.MaxInstances = []int{1, 2}, 2
		r, err = memory.Run(t.Context(), c, w.deps())
		require.NoError(t, err)
		settings := map[[3]int]bool{}
		for _, p := range r.Points {
			settings[[3]int{p.Instances, p.Batch, p.Concurrency}] = true
		}
		require.Len(t, r.Points, len(settings), "each setting is one point")
		for _, a := range r.Footprint.Anchors {
			require.True(t, a.IsCurve() || a.Work.Throughput > 0, "%+v", a)
		}
		require.Positive(t, r.Footprint.Answer.Choice.Repeats)
		c.Space.Instances, c.Footprint.MaxInstances = []int{1}, 1

		c.LatencyBudget = time.Millisecond
		r, err = memory.Run(t.Context(), c, w.deps())
		require.NoError(t, err)
		require.Nil(t, r.Recommended)
		require.Equal(t, "no setting meets the latency budget of 1ms; the lowest p99 measured is 10ms", r.Reason)
	})
}

// TestMemoryIsTheLimit checks that the count that memory holds is run, and one more. The limit is the
// user's, so that exceeding it harms nobody.
func TestMemoryIsTheLimit(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		w.measure = func(k int, _ memory.Load) (memory.Measurement, error) {
			return memory.Measurement{Throughput: 100 * float64(k), Stable: true}, nil // each instance helps
		}
		w.limit = 1 << 40
		c := config(t, repository(t, plainConfig))
		c.Memory = 800 * mib // 150 + 72 * 9.03
		r, err := memory.Run(t.Context(), c, w.deps())
		require.NoError(t, err)
		require.Equal(t, 9, r.Footprint.Answer.Instances)
		require.Equal(t, footprint.Verified, r.Footprint.Answer.Status)
		require.True(t, r.Footprint.Answer.Run)
		require.Contains(t, w.mu.launched, 9)
		require.Contains(t, w.mu.launched, 10)
		require.Equal(t, 9, r.Recommended.Instances)

		c.Footprint.Verify = false
		c.Space.Instances = []int{1, 2, 3}
		c.Footprint.MinGain = 0
		w.mu.launched = nil
		r, err = memory.Run(t.Context(), c, w.deps())
		require.NoError(t, err)
		require.NotContains(t, w.mu.launched, 9)
		require.Equal(t, 9, r.Footprint.Answer.Memory)
		require.Equal(t, footprint.Predicted, r.Footprint.Answer.MemoryStatus)
	})
}

// TestHostIsNotEndangered checks that no server is started that would take the memory of others.
func TestHostIsNotEndangered(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		w.measure = func(k int, _ memory.Load) (memory.Measurement, error) {
			return memory.Measurement{Throughput: 100 * float64(k), Stable: true}, nil
		}
		w.limit = 600 * mib
		c := config(t, repository(t, plainConfig))
		c.Footprint.Headroom = func(uint64) uint64 { return 100 * mib } // 500: four instances
		r, err := memory.Run(t.Context(), c, w.deps())
		require.NoError(t, err)
		for _, k := range w.mu.launched {
			require.LessOrEqual(t, 150+72*k, 600-100/2, "%v", w.mu.launched)
		}
		require.Equal(t, 4, r.Footprint.Answer.Memory)
		require.Equal(t, footprint.Verified, r.Footprint.Answer.MemoryStatus, "%+v", r.Footprint.Answer)
	})
}

func TestUnfit(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		c := config(t, repository(t, plainConfig))
		c.Memory = 200 * mib
		r, err := memory.Run(t.Context(), c, w.deps())
		require.NoError(t, err)
		require.Nil(t, r.Recommended)
		require.Equal(t, footprint.Unfit, r.Footprint.Answer.Status)
		require.EqualValues(t, 22*mib, hostLimit(t, r).Shortfall)
		require.Equal(t, "one instance does not fit in memory", r.Reason)
	})
}

func TestOnGPU(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		w.gpu = true
		d := w.deps()
		d.GPU = device{w: w}
		r, err := memory.Run(t.Context(), config(t, repository(t, plainConfig+` instance_group { kind: KIND_GPU }`)), d)
		require.NoError(t, err)
		require.Len(t, r.Footprint.Limits, 2)
		gpu := r.Footprint.Limits[0]
		require.EqualValues(t, "GPU-0", gpu.Place)
		require.InDelta(t, 72*mib, gpu.Law.PerInstance.Value, 1)
		require.EqualValues(t, 9<<30, gpu.Room.Usable, "what others use is not ours")
		require.Equal(t, (9<<10-100)/72, r.Footprint.Answer.Memory)
		require.False(t, hostLimit(t, r).Costs, "instances take no host memory")
		require.Equal(t, inferencepb.ModelInstanceGroup_KIND_GPU, w.mu.models["m"].GetInstanceGroup()[0].GetKind())
		require.Equal(t, "memory of the server's processes", r.Places["GPU-0"].Source)
	})
}

func TestOnGPUWithHiddenProcesses(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		w.gpu = true
		d := w.deps()
		d.GPU = device{w: w, hidden: true}
		r, err := memory.Run(t.Context(), config(t, repository(t, plainConfig+` instance_group { kind: KIND_GPU }`)), d)
		require.NoError(t, err)
		require.InDelta(t, 72*mib, r.Footprint.Limits[0].Law.PerInstance.Value, 1)
		require.Equal(t, "memory taken since the start, whole device", r.Places["GPU-0"].Source)
	})
}

// TestServerThatDoesNotCount checks that a foreign server gets more requests instead.
func TestServerThatDoesNotCount(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		w.blind = true
		r, err := memory.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
		require.NoError(t, err)
		require.Equal(t, footprint.Enough, r.Footprint.Anchors[0].Proof)
	})
}

func TestServerThatDoesNotStart(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		w.failAt = 2
		r, err := memory.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
		require.NoError(t, err, "one count was measured")
		require.Equal(t, []int{0, 1, 1, 2}, w.mu.launched, "three are not tried where two fail")
		require.Len(t, r.Points, 4)
		require.EqualError(t, r.Footprint.Anchors[2].Failure, "host_oom: the server did not start: out of memory")
		require.Equal(t, 1, r.Recommended.Instances)
		require.Equal(t, 1, r.Footprint.Answer.Memory)

		w.failAt = 1
		_, err = memory.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
		require.ErrorIs(t, err, memory.ErrNothingMeasured)
		require.ErrorIs(t, err, memory.ErrNoServer)
		require.ErrorContains(t, err, "instance count 1: the server did not start: out of memory")
	})
}

func TestServerThatDiesUnderLoad(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		w.dieAt = 2
		r, err := memory.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
		require.NoError(t, err)
		require.Equal(t, []int{0, 1, 1, 2}, w.mu.launched)
		require.Len(t, r.Points, 4)
		require.EqualError(t, r.Footprint.Anchors[2].Failure, "other: ended under load: signal: killed")
		require.Equal(t, trial.Other, r.Footprint.Anchors[2].Failure.Class)
		require.Nil(t, hostLimit(t, r).Law, "the memory of a server that died compares with nothing")
		require.True(t, w.closed())
	})
}

func TestFailedMeasurementIsAPoint(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		good := w.measure
		w.measure = func(k int, l memory.Load) (memory.Measurement, error) {
			if k == 1 && l.Batch == 4 && l.Concurrency == 1 {
				return memory.Measurement{}, errors.New("bad input")
			}
			return good(k, l)
		}
		r, err := memory.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
		require.NoError(t, err)
		require.Len(t, r.Points, 12)
		require.EqualError(t, r.Points[2].Err, "bad input")
		require.NotNil(t, hostLimit(t, r).Law, "the server was put to work all the same")
	})
}

// TestNoLoadCanBeMeasured fails every load, as for inputs of unknown shape, and checks that
// higher instance counts are not tried.
func TestNoLoadCanBeMeasured(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		w.measure = func(int, memory.Load) (memory.Measurement, error) {
			return memory.Measurement{}, errors.New("bad input")
		}
		r, err := memory.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
		require.EqualError(t, err, "nothing was measured: instance count 1: bad input")
		require.Equal(t, []int{0, 1}, w.mu.launched)
		require.Nil(t, r.Recommended)
		require.Equal(t, "no setting could be measured", r.Reason)
	})
}

// A batcher joins the requests that clients send one by one.
func TestStressUsesTheLargestBatch(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		r, err := memory.Run(t.Context(), config(t, repository(t, plainConfig+` dynamic_batching { }`)), w.deps())
		require.NoError(t, err)
		require.Equal(t, 8, r.Batch)
		require.InDelta(t, (60+8*3)*mib, hostLimit(t, r).Law.PerInstance.Value, 1)
		require.Contains(t, w.mu.exercised, memory.Load{Batch: 8, Concurrency: 6}, "two requests for each instance")
	})
}

func TestInterruptOfAServerThatHangs(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		w.closeErr = errors.New("the server was killed")
		ctx, cancel := context.WithCancelCause(t.Context())
		w.measure = func(int, memory.Load) (memory.Measurement, error) {
			cancel(errors.New("enough"))
			return memory.Measurement{}, errors.New("no answer")
		}
		r, err := memory.Run(ctx, config(t, repository(t, plainConfig)), w.deps())
		require.EqualError(t, err, "nothing was measured: enough")
		require.True(t, r.Interrupted)
	})
}

func TestInterrupt(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		d := w.deps()
		points := 0
		d.Observe = func(e memory.Event) {
			if _, ok := e.(memory.Measured); ok {
				if points++; points == 6 {
					cancel(errors.New("enough"))
				}
			}
		}
		r, err := memory.Run(ctx, config(t, repository(t, plainConfig)), d)
		require.NoError(t, err)
		require.True(t, r.Interrupted)
		require.Len(t, r.Points, 6)
		require.NotNil(t, r.Recommended, "what was measured is still judged")
		require.True(t, w.closed())

		r, err = memory.Run(ctx, config(t, repository(t, plainConfig)), w.deps())
		require.ErrorIs(t, err, memory.ErrNothingMeasured)
		require.ErrorContains(t, err, "enough")
		require.True(t, r.Interrupted)
	})
}

func TestVariants(t *testing.T) {
	virtual(t, func(t *testing.T) {
		one := memory.Space{Instances: []int{3}, Batches: []int{16}, Concurrencies: []int{1}}
		for name, c := range map[string]struct {
			config   string
			batch    int32
			warnings []string
		}{
			"raised": {plainConfig, 16, []string{"max_batch_size is raised from 8 to 16, the largest batch size to measure"}},
			"enough": {`name: "m" max_batch_size: 64`, 64, nil},
			"no file": {
				"", 16,
				[]string{"max_batch_size is raised from 0 to 16, the largest batch size to measure"},
			},
			"groups": {
				`max_batch_size: 16 instance_group { name: "a" kind: KIND_CPU count: 7 } instance_group { name: "b" }`, 16,
				[]string{"the model has 2 instance groups; only the first is analyzed and kept"},
			},
		} {
			w := newWorld(t)
			cfg := config(t, repository(t, c.config))
			cfg.Space = one
			r, err := memory.Run(t.Context(), cfg, w.deps())
			require.NoError(t, err, name)
			m := w.mu.models["m"]
			require.Equal(t, "m", m.GetName(), name)
			require.Equal(t, c.batch, m.GetMaxBatchSize(), name)
			require.Len(t, m.GetInstanceGroup(), 1)
			require.Equal(t, c.warnings, r.Warnings, name)
			require.Subset(t, w.mu.launched, []int{1, 2}, "one count is no law")
			group := m.GetInstanceGroup()[0]
			if name == "groups" {
				require.Equal(t, "a", group.GetName())
				require.Equal(t, inferencepb.ModelInstanceGroup_KIND_CPU, group.GetKind())
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := func(change func(*memory.Config), text string) error {
		c := config(t, repository(t, text))
		change(&c)
		_, err := memory.Run(t.Context(), c, w.deps())
		return err
	}
	keep := func(*memory.Config) {}
	require.ErrorContains(t, run(func(c *memory.Config) { c.Model = "x" }, plainConfig), `model "x" is not in `)
	require.ErrorContains(t, run(func(c *memory.Config) { c.Repositories = []string{"/no/such"} }, plainConfig), "model repository: open /no/such: no such file or directory")
	require.EqualError(t, run(func(c *memory.Config) { c.Devices = []string{"0"} }, plainConfig), "no GPU can be measured on this machine, so device 0 cannot count")
	require.ErrorContains(t, run(func(c *memory.Config) { c.Model = "../m" }, plainConfig), `"../m" is not the name of a model folder`)
	require.ErrorContains(t, run(func(c *memory.Config) { c.Model = ".." }, plainConfig), `".." is not the name of a model folder`)
	require.EqualError(t, run(keep, `name: "m" max_batch_size: 0`),
		`model "m" does not batch (max_batch_size is 0), so the only batch size is 1, not 4`)
	require.ErrorContains(t, run(keep, `name: "m" ensemble_scheduling { }`), `model "m" is an ensemble`)
	require.ErrorContains(t, run(keep, `name: m`), "config.pbtxt")
	require.EqualError(t, run(func(c *memory.Config) {
		*c = memory.Config{LatencyBudget: -1, Tolerance: -1}
	}, plainConfig), `batch sizes: nothing to try
concurrencies: nothing to try
no model is named
no model repository is named
latency budget -1ns is negative
tolerance -1 is not a share from 0 to below 1`)
	require.Empty(t, w.mu.launched)
}
