package model

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/hostpolicy"
)

// TestBind checks the policies of instances, and among how many a backend divides threads.
func TestBind(t *testing.T) {
	t.Parallel()
	if !hostpolicy.Supported {
		t.Skip("needs Linux")
	}
	var log bytes.Buffer
	b := &Builder{Options{Log: slog.New(slog.NewTextHandler(&log, nil)), HostPolicies: hostpolicy.Policies{
		"near": {"cpu-cores": "0-1"}, "node": {"numa-node": "0"},
	}}}
	placements := func() (all []backend.Placement) {
		for _, policy := range []string{"near", "near", "", "node", "far"} {
			all = append(all, backend.Placement{
				Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Instances: 5, Group: &inferencepb.ModelInstanceGroup{HostPolicy: policy},
			})
		}
		return all
	}
	all := placements()
	b.bind(all, &inferencepb.ModelConfig{Name: "m"})
	for i, want := range []struct {
		policy           string
		bound, instances int
	}{{"near", 2, 2}, {"near", 2, 2}, {"cpu", 0, 5}, {"node", 0, 5}, {"far", 0, 5}} {
		require.Equal(t, want.policy, all[i].HostPolicy.Name)
		require.Equal(t, want.bound, all[i].HostPolicy.Processors())
		require.Equal(t, want.instances, all[i].Instances)
	}
	require.True(t, all[3].HostPolicy.Binds(), "to a node")
	require.Contains(t, log.String(), "model 'm': host policy 'far' has no effect: no --host-policy=far,<setting>=<value> is given")
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("no effect")))

	for backendName, parameters := range map[string]map[string]string{
		"python": {"python_cpus": "0"}, "identity": {"isolation": "process", "isolation_cpus": "0"},
	} {
		c := &inferencepb.ModelConfig{Name: "m", Backend: backendName, Parameters: map[string]*inferencepb.ModelParameter{}}
		for key, value := range parameters {
			c.Parameters[key] = &inferencepb.ModelParameter{StringValue: value}
		}
		all = placements()
		b.bind(all, c)
		require.False(t, all[0].HostPolicy.Binds(), "the processors of the model's own process count")
		require.True(t, all[3].HostPolicy.Binds(), "they say nothing of memory")
		delete(c.Parameters, "isolation")
		b.bind(all, c)
		require.Equal(t, backendName != "python", all[0].HostPolicy.Binds(), "the process of the server has no limits")
	}
	require.Equal(t, "0-1", b.opts.HostPolicies["near"]["cpu-cores"], "unchanged")
}
