package backend_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
)

// copier keeps a second registry like the one that it mirrors, as the server of a child does.
type copier struct {
	to    *backend.Metrics
	table backend.MetricTable
	calls int
}

func (c *copier) Family(number uint32, name, help string, kind backend.MetricKind) {
	c.calls++
	if f, err := c.to.Family(name, help, kind); err == nil {
		c.table.AddFamily(number, f)
	}
}

func (c *copier) Metric(number, family uint32, labels []backend.MetricLabel, bounds []float64) {
	c.calls++
	if m, err := c.table.Family(family).Metric(labels, bounds); err == nil {
		c.table.AddMetric(number, family, m)
	}
}

func (c *copier) Change(number uint32, change backend.MetricChange, v float64) {
	c.calls++
	if err := c.table.Metric(number).Apply(change, v); err != nil {
		panic(err)
	}
}

func (c *copier) Drop(number uint32) {
	c.calls++
	c.table.Drop(number)
}

func text(r *backend.Metrics) string { return fmt.Sprint(r.Gather()) }

func TestMirror(t *testing.T) {
	c := &copier{to: backend.NewMetrics(nil)}
	r := backend.NewMetrics(nil)
	r.SetMirror(c)
	same := func() {
		t.Helper()
		require.Equal(t, text(r), text(c.to))
	}
	counter, err := r.Family("calls_total", "Calls.", backend.Counter)
	require.NoError(t, err)
	gauge, err := r.Family("level", "A level.", backend.Gauge)
	require.NoError(t, err)
	histogram, err := r.Family("sizes", "Sizes.", backend.Histogram)
	require.NoError(t, err)
	one, err := counter.Metric([]backend.MetricLabel{{Name: "where", Value: "here"}}, nil)
	require.NoError(t, err)
	again, err := counter.Metric([]backend.MetricLabel{{Name: "where", Value: "here"}}, nil)
	require.NoError(t, err)
	level, err := gauge.Metric(nil, nil)
	require.NoError(t, err)
	sizes, err := histogram.Metric(nil, []float64{1, 2})
	require.NoError(t, err)
	require.NoError(t, one.Increment(2))
	require.NoError(t, again.Increment(1))
	require.NoError(t, level.Set(5))
	require.NoError(t, level.Increment(-1))
	require.NoError(t, sizes.Observe(1.5))
	require.Contains(t, text(c.to), "value:3")
	same()

	before := c.calls
	require.Error(t, one.Increment(-1))
	require.Error(t, one.Set(1))
	require.Equal(t, before, c.calls, "what is refused is not told")
	again.Release()
	require.Equal(t, before, c.calls, "it is in use")
	one.Release()
	level.Release()
	same()
	sizes.Release()
	for _, f := range []*backend.MetricFamily{counter, gauge, histogram} {
		f.Release()
	}
	same()
	require.Equal(t, "[]", text(c.to))
}

// TestOrphans: the metrics of children that died go on in the next ones, and end with the model.
func TestOrphans(t *testing.T) {
	r := backend.NewMetrics(nil)
	var o backend.MetricOrphans
	for range 3 {
		var child backend.MetricTable
		f, err := r.Family("calls_total", "Calls.", backend.Counter)
		require.NoError(t, err)
		family := child.Next()
		child.AddFamily(family, f)
		m, err := f.Metric(nil, nil)
		require.NoError(t, err)
		child.AddMetric(child.Next(), family, m)
		require.NoError(t, m.Increment(1))
		o.Adopt(&child)
	}
	require.Equal(t, 1, o.Len())
	require.Contains(t, text(r), "value:3")
	o.Release()
	require.Equal(t, "[]", text(r))
}
