package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/gpu/gputest"
)

// TestUsage: the memory in use is that of the GPU or, in MIG mode, of the instance that the
// process has; the whole GPU cannot be read then.
func TestUsage(t *testing.T) {
	t.Parallel()
	const uuid = "GPU-00000000-0000-0000-0000-000000000000"
	for on, simulated := range map[string]*gputest.Simulator{
		uuid:    gputest.New(1, gputest.GPU{Total: 1000 * gputest.MiB}),
		"MIG-a": gputest.New(1, gputest.GPU{MIG: &gputest.MIG{Hidden: true, Instances: []gputest.Instance{{UUID: "MIG-a", MemoryMB: 1000}}}}),
	} {
		_, err := simulated.Start(on, 1, gputest.Law{Base: 250 * gputest.MiB})
		require.NoError(t, err)
		m, err := simulated.Open()
		require.NoError(t, err)
		got, err := gpus{m}.usage(0)
		require.NoError(t, err, on)
		require.InDelta(t, 0.25, got, 1e-9, on)
		_, err = gpus{m}.usage(1)
		require.ErrorContains(t, err, "there is no GPU 1")
	}
}
