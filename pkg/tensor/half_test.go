package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

func TestHalfBits(t *testing.T) {
	t.Parallel()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for f, want := range map[float32]uint16{
		0: 0, 1: 0x3c00, -2: 0xc000, 1.5: 0x3e00, 65504: 0x7bff, 65519.996: 0x7bff, 65520: 0x7c00, inf: 0x7c00, -inf: 0xfc00,
		5.9604644775390625e-08: 1, 2.9802322387695312e-08: 0, 2.9802326e-08: 1, -1e-9: 0x8000,
		1 + 1.0/2048: 0x3c00, 1 + 3.0/2048: 0x3c02, 2047.0 / 2048 / 16384: 0x0400,
	} {
		require.Equal(t, want, tensor.FP16Bits(f), f)
	}
	require.Equal(t, uint16(0x7e00), tensor.FP16Bits(nan))
	for f, want := range map[float32]uint16{
		0: 0, 1: 0x3f80, -1: 0xbf80, 1.00390625: 0x3f80, 1.01171875: 0x3f82, 0.1: 0x3dcd, math.MaxFloat32: 0x7f80, inf: 0x7f80, -inf: 0xff80,
	} {
		require.Equal(t, want, tensor.BF16Bits(f), f)
	}
	require.Equal(t, uint16(0x7fc0), tensor.BF16Bits(nan))
}

// Every number of 16 bits has the value from which it is made.
func TestHalfValues(t *testing.T) {
	t.Parallel()
	for bits := range 1 << 16 {
		h := uint16(bits)
		if f := tensor.FromFP16(h); f == f {
			require.Equal(t, h, tensor.FP16Bits(f))
		} else {
			require.True(t, h&0x7c00 == 0x7c00 && h&0x3ff != 0, h)
		}
		if f := tensor.FromBF16(h); f == f {
			require.Equal(t, h, tensor.BF16Bits(f))
		}
	}
}
