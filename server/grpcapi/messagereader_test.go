package grpcapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
)

// Only contents in the memory of their model, and messages of one step, are decoded in no time.
func TestTakesLong(t *testing.T) {
	t.Parallel()
	inModel := rpc.Arrived{Buffer: tensor.NewPool().Get(1 << 20)}
	defer inModel.Buffer.Release()
	for name, c := range map[string]struct {
		compressed byte
		n          int
		arrived    rpc.Arrived
		want       bool
	}{
		"a short message":                 {0, 100, rpc.Arrived{}, false},
		"one step":                        {0, firstStep, rpc.Arrived{}, false},
		"a long message in frames":        {0, firstStep + 1, rpc.Arrived{}, true},
		"contents in the model's memory":  {0, 1<<20 + 100, inModel, false},
		"what is behind them is long":     {0, 1<<20 + firstStep + 1, inModel, true},
		"a short message that unfolds":    {1, 100, rpc.Arrived{}, true},
		"a long message, also compressed": {1, 1 << 20, rpc.Arrived{}, true},
	} {
		in := messageReader{placed: c.arrived}
		in.header[0] = c.compressed
		require.Equal(t, c.want, in.takesLong(c.n), name)
	}
}
