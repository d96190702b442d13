package machine

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
	"triton/pkg/cuda"
	"triton/pkg/gpu"
)

// TestEnvironment: a variable that is set and empty hides all GPUs, one that is
// not set hides none.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	e := GPUs(process.Process{}, nil)
	require.Nil(t, e.Visible)
	require.Empty(t, e.Order)
	for _, visible := range []string{"", "1,0", "GPU-8932f937"} {
		e = GPUs(process.Process{Environ: []string{"CUDA_VISIBLE_DEVICES=" + visible, "CUDA_DEVICE_ORDER=PCI_BUS_ID"}}, nil)
		require.Equal(t, visible, *e.Visible)
		require.Equal(t, "PCI_BUS_ID", e.Order)
		require.NotNil(t, e.CUDA)
	}
	require.Nil(t, GPUs(process.Process{Environ: []string{"TRITON_SERVER_CPU_ONLY=1"}}, nil).CUDA, "its driver is left alone")
}

// listing is a CUDA driver of two devices.
type listing struct {
	cuda.Driver
	err error
}

func (l listing) Devices() ([]cuda.Device, error) {
	return []cuda.Device{{UUID: "GPU-b", PCI: "0000:02:00.0"}, {UUID: "GPU-a", PCI: "0000:01:00.0"}}, l.err
}

type silent struct{ cuda.Driver }

func TestIdentities(t *testing.T) {
	t.Parallel()
	all, err := GPUs(process.Process{}, listing{}).CUDA()
	require.NoError(t, err)
	require.Equal(t, []gpu.Identity{{UUID: "GPU-b", PCI: "0000:02:00.0"}, {UUID: "GPU-a", PCI: "0000:01:00.0"}}, all)
	broken := errors.New("broken")
	_, err = GPUs(process.Process{}, listing{err: broken}).CUDA()
	require.ErrorIs(t, err, broken)
	_, err = GPUs(process.Process{}, silent{}).CUDA()
	require.ErrorContains(t, err, "does not list its devices")
}
