package hostpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/server/hostpolicy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	cpu   = inferencepb.ModelInstanceGroup_KIND_CPU
	gpu   = inferencepb.ModelInstanceGroup_KIND_GPU
	model = inferencepb.ModelInstanceGroup_KIND_MODEL
)

func TestPolicyOfAnInstance(t *testing.T) {
	t.Parallel()
	all := hostpolicy.Policies{}
	for _, name := range []string{"cpu", "gpu_1", "mine"} {
		all = all.With(name, hostpolicy.Cores, "7-7").With(name, hostpolicy.Cores, "0-0") // the last one counts
	}
	for _, c := range []struct {
		group  string
		kind   inferencepb.ModelInstanceGroup_Kind
		device int
		name   string
		bound  bool
	}{
		{"", cpu, 0, "cpu", true},
		{"", gpu, 0, "gpu_0", false},
		{"", gpu, 1, "gpu_1", true},
		{"", model, 0, "model", false},
		{"mine", gpu, 1, "mine", true},
		{"other", cpu, 0, "other", false}, // not that of the device
	} {
		p := all.Of(&inferencepb.ModelInstanceGroup{HostPolicy: c.group}, c.kind, c.device)
		require.Equal(t, c.name, p.Name)
		require.Equal(t, c.bound, len(p.Settings) > 0, c.name)
		if c.bound {
			require.Equal(t, "0-0", p.Settings[hostpolicy.Cores])
		}
	}
	require.Equal(t, hostpolicy.Policy{Name: "cpu"}, hostpolicy.Policies(nil).Of(nil, cpu, 0))
	require.Equal(t, hostpolicy.Policies{"a": {"numa-node": "1"}}, hostpolicy.Policies(nil).With("a", "numa-node", "1"))
}
