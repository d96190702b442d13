package repository

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

func TestGPULimit(t *testing.T) {
	t.Parallel()
	on := identity + "instance_group { kind: KIND_GPU gpus: [ 1 ] }"
	dir := tree(t, map[string]string{"m/config.pbtxt": on, "m/1/": "", "n/config.pbtxt": identity, "n/1/": ""})
	used := 0.5
	r, _, err := open(t, func(o *Options) {
		explicit(o)
		o.Machine.GPUs = []int32{0, 1}
		o.GPULimits = map[int]float64{1: 0.4}
		o.GPUUsage = func(device int) (float64, error) {
			require.Equal(t, 1, device)
			return used, nil
		}
	}, dir)
	require.NoError(t, err)
	require.NoError(t, r.Load(t.Context(), "n", infer.LoadOptions{}))
	err = r.Load(t.Context(), "m", infer.LoadOptions{})
	require.ErrorContains(t, err, "can not create model 'm_0_0': memory limit set for GPU 1 has exceeded, model loading is rejected.;")
	used = 0.4
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{}))
}
