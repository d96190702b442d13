package builtin_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend/builtin"
	"triton/server/infer"
)

// TestFaultsOfTheInstance runs the faults that take an instance out of service, or
// answer after the call.
func TestFaultsOfTheInstance(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		err   string
		ready bool // after the first batch
		later bool // and a second after that
	}{
		"panic":  {"broke down during execution", false, true},
		"broken": {"fault: a broken instance was requested", false, true},
		"late":   {"", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := &inferencepb.ModelConfig{
					Input:      []*inferencepb.ModelInput{{Name: "INPUT0", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{1}}},
					Output:     []*inferencepb.ModelOutput{{Name: "OUTPUT0", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{1}}},
					Parameters: map[string]*inferencepb.ModelParameter{name: {StringValue: "1"}},
				}
				g, _, pool := server(t, builtin.Fault{}, cfg)
				r := infer.NewUnpooled()
				r.ModelName = "m"
				input(r, pool, "INPUT0", tensor.Shape{1}, 7)
				resp, err := g.Infer(t.Context(), r)
				if want.err == "" {
					require.NoError(t, err)
					resp.Release()
				} else {
					require.ErrorContains(t, err, want.err)
				}
				r.Release()
				require.Equal(t, want.ready, g.Ready())
				time.Sleep(time.Second)
				require.Equal(t, want.later, g.Ready())
			})
		})
	}
}
