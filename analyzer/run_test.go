package analyzer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer"
	"triton/analyzer/search"
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

func TestRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := repository(t, plainConfig)
	c := config(t, dir)
	var events []analyzer.Event
	d := w.deps()
	d.Observe = func(e analyzer.Event) { events = append(events, e) }
	r, err := analyzer.Run(t.Context(), c, d)
	require.NoError(t, err)

	require.Equal(t, []int{0, 1, 2, 3}, w.mu.launched)
	require.True(t, w.closed())
	require.Equal(t, []search.Load{
		{Batch: 1, Concurrency: 1},
		{Batch: 1, Concurrency: 2},
		{Batch: 4, Concurrency: 1},
		{Batch: 4, Concurrency: 2},
	}, w.mu.loads[:4])
	require.Len(t, r.Points, 12)
	require.Len(t, events, 4+12+3)
	require.Equal(t, []int{4, 4, 4}, w.mu.exercised)

	require.Equal(t, analyzer.HostPSS, r.Source)
	base, ok := r.Bytes(r.Base)
	require.True(t, ok)
	require.Equal(t, uint64(50*mib), base)
	loaded, _ := r.Bytes(r.Variants[1].Loaded)
	require.Equal(t, uint64((50+100+2*60)*mib), loaded)
	require.InDelta(t, (60+4*3)*mib, r.Fit.PerInstance, 1) // with a batch of four
	require.InDelta(t, 100*mib, r.Fit.PerModel, 1)
	require.InDelta(t, 0, r.Fit.Residual, 1)
	// 1000 = 50 + 100 + 72 * 11.8
	require.Equal(t, analyzer.Capacity{
		Memory: 1000 * mib, Usable: 1000 * mib, Origin: "memory of the test",
		Known: true, Limited: true, Instances: 11,
	}, r.Capacity)

	best := r.Points[r.Recommended]
	require.Equal(t, 2, best.Instances, "a third instance has nothing to do at two requests in flight")
	recommended, err := modelconfig.Parse("config.pbtxt", r.Config)
	require.NoError(t, err)
	require.Equal(t, int32(2), recommended.GetInstanceGroup()[0].GetCount())
	require.Equal(t, int32(8), recommended.GetMaxBatchSize())

	left, err := os.ReadDir(c.TempDir)
	require.NoError(t, err)
	require.Empty(t, left)
	text, err := os.ReadFile(filepath.Join(dir, "m", "config.pbtxt"))
	require.NoError(t, err)
	require.Equal(t, plainConfig, string(text), "the user's file is only read")
}

func TestLatencyBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := config(t, repository(t, plainConfig))
	c.LatencyBudget = 15 * time.Millisecond // one instance takes 20 at two in flight
	c.Space.Instances = []int{1}
	r, err := analyzer.Run(t.Context(), c, w.deps())
	require.NoError(t, err)
	require.Equal(t, 1, r.Points[r.Recommended].Concurrency)
	require.Contains(t, r.Reason, "at a p99 latency of at most 15ms (2 of 4 settings meet the limits)")
	require.Nil(t, r.Fit, "one count has no slope")
	require.False(t, r.Capacity.Known)

	c.LatencyBudget = time.Millisecond
	r, err = analyzer.Run(t.Context(), c, w.deps())
	require.NoError(t, err)
	require.Equal(t, -1, r.Recommended)
	require.Empty(t, r.Config)
	require.Equal(t, "no setting meets the latency budget of 1ms; the lowest p99 measured is 10ms", r.Reason)
}

func TestMemoryFromConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := config(t, repository(t, plainConfig))
	c.Memory, c.Headroom = 300*mib, 0.2 // 240 usable: 222 for one instance
	r, err := analyzer.Run(t.Context(), c, w.deps())
	require.NoError(t, err)
	require.Equal(t, 1, r.Points[r.Recommended].Instances)
	require.Equal(t, 1, r.Capacity.Instances)
	require.Equal(t, "as given", r.Capacity.Origin)

	c.Memory = 100 * mib
	r, err = analyzer.Run(t.Context(), c, w.deps())
	require.NoError(t, err)
	require.Equal(t, -1, r.Recommended)
	require.Zero(t, r.Capacity.Instances)
	require.Equal(t, "no setting was measured that fits in memory", r.Reason)
}

func TestOnGPU(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gpu = true
	d := w.deps()
	d.GPU = device{w: w}
	r, err := analyzer.Run(t.Context(), config(t, repository(t, plainConfig)), d)
	require.NoError(t, err)
	require.Equal(t, analyzer.GPUProcesses, r.Source)
	require.InDelta(t, 72*mib, r.Fit.PerInstance, 1)
	require.Equal(t, uint64(9<<30), r.Capacity.Memory, "what others use is not ours")
	base, ok := r.Bytes(r.Base)
	require.True(t, ok)
	require.Zero(t, base)
	require.Equal(t, (9<<10-100)/72, r.Capacity.Instances)
}

func TestOnGPUWithHiddenProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gpu = true
	d := w.deps()
	d.GPU = device{w: w, hidden: true}
	r, err := analyzer.Run(t.Context(), config(t, repository(t, plainConfig+` instance_group { kind: KIND_GPU }`)), d)
	require.NoError(t, err)
	require.Equal(t, analyzer.GPUDevices, r.Source)
	require.InDelta(t, 72*mib, r.Fit.PerInstance, 1)
	require.Equal(t, inferencepb.ModelInstanceGroup_KIND_GPU, w.mu.models["m"].GetInstanceGroup()[0].GetKind())

	// If the configuration did not say where the model runs, the GPU memory of other
	// processes would be taken for the model's.
	r, err = analyzer.Run(t.Context(), config(t, repository(t, plainConfig)), d)
	require.NoError(t, err)
	require.Equal(t, analyzer.HostPSS, r.Source)
}

func TestServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.failAt = 2
	r, err := analyzer.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
	require.NoError(t, err, "one count was measured")
	require.Equal(t, []int{0, 1, 2}, w.mu.launched, "three are not tried where two fail")
	require.Len(t, r.Points, 4)
	require.EqualError(t, r.Variants[1].Err, "instance count 2: the server did not start: out of memory")
	require.Equal(t, 1, r.Points[r.Recommended].Instances)

	w.failAt = 1
	_, err = analyzer.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
	require.ErrorIs(t, err, analyzer.ErrNothingMeasured)
	require.ErrorIs(t, err, analyzer.ErrNoServer)
	require.ErrorContains(t, err, "instance count 1: the server did not start: out of memory")
}

func TestServerThatDiesUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieAt = 2
	r, err := analyzer.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2}, w.mu.launched)
	require.Len(t, r.Points, 4)
	require.EqualError(t, r.Variants[1].Err, "instance count 2: ended under load: signal: killed")
	require.False(t, r.Variants[1].Complete)
	require.Nil(t, r.Fit, "the memory of a server that died compares with nothing")
	require.True(t, w.closed())
}

func TestFailedMeasurementIsAPoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.measure
	w.measure = func(k int, l search.Load) (analyzer.Measurement, error) {
		if k == 1 && l.Batch == 4 {
			return analyzer.Measurement{}, errors.New("bad input")
		}
		return good(k, l)
	}
	r, err := analyzer.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
	require.NoError(t, err)
	require.Len(t, r.Points, 12)
	require.EqualError(t, r.Points[2].Err, "bad input")
	require.NotContains(t, []int{2, 3}, r.Recommended)
	require.NotNil(t, r.Fit, "the server was put to work all the same")
}

// TestNoLoadCanBeMeasured fails every load, as for inputs of unknown shape, and checks that
// higher instance counts are not tried.
func TestNoLoadCanBeMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.measure = func(int, search.Load) (analyzer.Measurement, error) {
		return analyzer.Measurement{}, errors.New("bad input")
	}
	r, err := analyzer.Run(t.Context(), config(t, repository(t, plainConfig)), w.deps())
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, w.mu.launched)
	require.Empty(t, w.mu.exercised)
	require.EqualError(t, r.Variants[0].Err, "instance count 1: every load failed")
	require.Equal(t, -1, r.Recommended)
	require.Equal(t, "no setting could be measured", r.Reason)
}

// A batcher joins the requests that clients send one by one.
func TestExerciseUsesTheLargestBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := config(t, repository(t, plainConfig+` dynamic_batching { }`))
	c.Space.Instances = []int{1, 2}
	r, err := analyzer.Run(t.Context(), c, w.deps())
	require.NoError(t, err)
	require.Equal(t, 8, r.Batch)
	require.Equal(t, []int{8, 8}, w.mu.exercised)
	require.InDelta(t, (60+8*3)*mib, r.Fit.PerInstance, 1)

	w.exerciseErr = errors.New("bad input")
	r, err = analyzer.Run(t.Context(), c, w.deps())
	require.NoError(t, err)
	require.Nil(t, r.Fit)
	require.GreaterOrEqual(t, r.Recommended, 0)
	require.Equal(t, []string{
		"instance count 1: the memory while all instances execute is not known: bad input",
		"instance count 2: the memory while all instances execute is not known: bad input",
	}, r.Warnings)
}

func TestInterruptOfAServerThatHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.closeErr = errors.New("the server was killed")
	ctx, cancel := context.WithCancelCause(t.Context())
	w.measure = func(int, search.Load) (analyzer.Measurement, error) {
		cancel(errors.New("enough"))
		return analyzer.Measurement{}, errors.New("no answer")
	}
	r, err := analyzer.Run(ctx, config(t, repository(t, plainConfig)), w.deps())
	require.EqualError(t, err, "nothing was measured: enough")
	require.True(t, r.Interrupted)
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	d := w.deps()
	points := 0
	d.Observe = func(e analyzer.Event) {
		if _, ok := e.(analyzer.Measured); ok {
			if points++; points == 6 {
				cancel(errors.New("enough"))
			}
		}
	}
	r, err := analyzer.Run(ctx, config(t, repository(t, plainConfig)), d)
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.Len(t, r.Points, 6)
	require.GreaterOrEqual(t, r.Recommended, 0, "what was measured is still judged")
	require.True(t, w.closed())

	r, err = analyzer.Run(ctx, config(t, repository(t, plainConfig)), w.deps())
	require.ErrorIs(t, err, analyzer.ErrNothingMeasured)
	require.ErrorContains(t, err, "enough")
	require.True(t, r.Interrupted)
}

func TestVariants(t *testing.T) {
	t.Parallel()
	one := search.Space{Instances: []int{3}, Batches: []int{16}, Concurrencies: []int{1}}
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
		r, err := analyzer.Run(t.Context(), cfg, w.deps())
		require.NoError(t, err, name)
		m := w.mu.models["m"]
		require.Equal(t, "m", m.GetName(), name)
		require.Equal(t, c.batch, m.GetMaxBatchSize(), name)
		require.Len(t, m.GetInstanceGroup(), 1)
		require.Equal(t, c.warnings, r.Warnings, name)
		group := m.GetInstanceGroup()[0]
		require.Equal(t, int32(3), group.GetCount())
		if name == "groups" {
			require.Equal(t, "a", group.GetName())
			require.Equal(t, inferencepb.ModelInstanceGroup_KIND_CPU, group.GetKind())
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := func(change func(*analyzer.Config), text string) error {
		c := config(t, repository(t, text))
		change(&c)
		_, err := analyzer.Run(t.Context(), c, w.deps())
		return err
	}
	keep := func(*analyzer.Config) {}
	require.ErrorContains(t, run(func(c *analyzer.Config) { c.Model = "x" }, plainConfig), `model "x" is not in `)
	require.ErrorContains(t, run(func(c *analyzer.Config) { c.Model = "../m" }, plainConfig), `"../m" is not the name of a model folder`)
	require.ErrorContains(t, run(func(c *analyzer.Config) { c.Model = ".." }, plainConfig), `".." is not the name of a model folder`)
	require.EqualError(t, run(keep, `name: "m" max_batch_size: 0`),
		`model "m" does not batch (max_batch_size is 0), so the only batch size is 1, not 4`)
	require.ErrorContains(t, run(keep, `name: "m" ensemble_scheduling { }`), `model "m" is an ensemble`)
	require.ErrorContains(t, run(keep, `name: m`), "config.pbtxt")
	require.EqualError(t, run(func(c *analyzer.Config) {
		*c = analyzer.Config{LatencyBudget: -1, Headroom: 1, Tolerance: -1}
	}, plainConfig), `instance counts: nothing to try
batch sizes: nothing to try
concurrencies: nothing to try
no model is named
no model repository is named
latency budget -1ns is negative
headroom 1 is not a share from 0 to below 1
tolerance -1 is not a share from 0 to below 1
interval 0s between memory readings is not positive`)
	require.Empty(t, w.mu.launched)
}
