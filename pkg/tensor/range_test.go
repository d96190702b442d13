package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

func TestOverflows(t *testing.T) {
	t.Parallel()
	const half = 1 << 103 // half a unit in the last place of the largest float32
	for _, c := range []struct {
		d    tensor.DataType
		f    float64
		want bool
	}{
		{tensor.FP16, 65519, false},
		{tensor.FP16, -65520, true},
		{tensor.BF16, 3.39e38, false},
		{tensor.BF16, 3.4e38, true},
		{tensor.FP32, math.MaxFloat32 + half*0.99, false},
		{tensor.FP32, -math.MaxFloat32 - half, true},
		{tensor.FP64, math.MaxFloat64, false},
		{tensor.FP16, math.Inf(-1), false},
		{tensor.FP32, math.NaN(), false},
	} {
		require.Equal(t, c.want, c.d.Overflows(c.f), "%s %g", c.d, c.f)
	}
}

func TestIntegerRange(t *testing.T) {
	t.Parallel()
	low, high, ok := tensor.Int64.IntegerRange()
	require.True(t, ok)
	require.Equal(t, int64(math.MinInt64), low)
	require.EqualValues(t, math.MaxInt64, high)
	low, high, ok = tensor.Uint64.IntegerRange()
	require.True(t, ok)
	require.Zero(t, low)
	require.EqualValues(t, uint64(math.MaxUint64), high)
	low, high, _ = tensor.Int16.IntegerRange()
	require.EqualValues(t, math.MinInt16, low)
	require.EqualValues(t, math.MaxInt16, high)
	for _, d := range []tensor.DataType{tensor.Bool, tensor.FP32, tensor.Bytes, tensor.Invalid} {
		_, _, ok := d.IntegerRange()
		require.False(t, ok, d)
	}
}
