package memory_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory"
)

const gib = 1 << 30

func TestFits(t *testing.T) {
	t.Parallel()
	// In MiB: base 800, 1100 for each instance, 38348 usable.
	m := memory.PackedModel{Base: 800 * mib, PerInstance: 1100 * mib}
	n, limited := memory.InstancesThatFit(m, 38348*mib, false)
	require.True(t, limited)
	require.Equal(t, 34, n)
	n, _ = memory.InstancesThatFit(m, 38348*mib, true)
	require.Equal(t, 32, n, "another kind of GPU")
	n, _ = memory.InstancesThatFit(m, 100*mib, false)
	require.Zero(t, n)
	_, limited = memory.InstancesThatFit(memory.PackedModel{Base: 5}, gib, false)
	require.False(t, limited)
}

func TestSeveralModelsOnOneDevice(t *testing.T) {
	t.Parallel()
	models := []memory.PackedModel{
		{Name: "large", Server: 500 * mib, Base: 700 * mib, PerInstance: 6 * gib, Throughput: map[int]float64{1: 100, 2: 190}, Useful: 2},
		{Name: "small", Server: 500 * mib, Base: 600 * mib, PerInstance: gib, Throughput: map[int]float64{1: 10, 2: 20, 4: 36}, Useful: 4},
	}
	require.Equal(t, []int{2, 4}, memory.PackOne(models, 20*gib).Counts, "all that is of use")
	require.Equal(t, []int{1, 4}, memory.PackOne(models, 12*gib).Counts)
	require.Equal(t, []int{1, 1}, memory.PackOne(models, 8*gib).Counts, "both are served")
	require.Equal(t, []int{0, 4}, memory.PackOne(models, 6*gib).Counts)
	require.Equal(t, []int{0, 0}, memory.PackOne(models, mib).Counts)
}

// TestPackingFits checks that random packings are within the memory, and that more memory never
// serves fewer models.
func TestPackingFits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var models []memory.PackedModel
		for range 1 + r.IntN(5) {
			models = append(models, memory.PackedModel{
				Server: 500 * mib, Base: 500*mib + float64(r.IntN(2000)*mib), PerInstance: float64(1+r.IntN(4000)) * mib, Useful: 1 + r.IntN(6),
			})
		}
		bytes := float64(r.IntN(40)) * gib
		place := memory.PackOne(models, bytes)
		sum, served := 500.0*mib, 0
		for i, k := range place.Counts {
			require.LessOrEqual(t, k, models[i].Useful)
			if k > 0 {
				served++
				sum += models[i].Base - 500*mib + float64(k)*models[i].PerInstance
			}
		}
		if served > 0 {
			require.LessOrEqual(t, sum, bytes)
			require.InDelta(t, sum, place.Bytes, 1)
		}
		more := 0
		for _, k := range memory.PackOne(models, bytes+4*gib).Counts {
			more += min(k, 1)
		}
		require.GreaterOrEqual(t, more, served)
	}
}

func TestSeveralDevices(t *testing.T) {
	t.Parallel()
	models := []memory.PackedModel{
		{Name: "a", Server: 500 * mib, Base: 600 * mib, PerInstance: 5 * gib, Useful: 1},
		{Name: "b", Server: 500 * mib, Base: 600 * mib, PerInstance: 6 * gib, Useful: 1},
		{Name: "c", Server: 500 * mib, Base: 600 * mib, PerInstance: 30 * gib, Useful: 1},
	}
	all, left := memory.PackSeveral(models, []memory.PackedDevice{{Name: "0", Bytes: 8 * gib}, {Name: "1", Bytes: 8 * gib}})
	require.Equal(t, []string{"c"}, left)
	require.Equal(t, []int{0, 1, 0}, all[0].Counts, "the largest first")
	require.Equal(t, []int{1, 0, 0}, all[1].Counts)
}
