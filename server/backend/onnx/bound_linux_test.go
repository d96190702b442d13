//go:build cgo

package onnx

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/hostpolicy"
	"triton/server/hostpolicy/hostpolicytest"
)

// TestBoundPool: the threads of the pool of a session are bound as the instance is, and instances
// with another policy have another session. It is not parallel: it counts the threads of the
// process.
func TestBoundPool(t *testing.T) {
	spec := specOf(t, simple(), 0)
	spec.Config.Parameters = map[string]*inferencepb.ModelParameter{"intra_op_thread_count": {StringValue: "3"}}
	w := load(t, spec)
	settings, bound := hostpolicytest.Narrow(t)
	if bound == hostpolicytest.Of("/proc/self") {
		t.Skip("needs two processors, or a kernel with NUMA support: a bound thread looks like others")
	}
	count := func() (n int) {
		all, err := filepath.Glob("/proc/self/task/*")
		require.NoError(t, err)
		for _, folder := range all {
			if hostpolicytest.Of(folder) == bound {
				n++
			}
		}
		return n
	}
	becomes := func(want int) { // threads that have ended are shown a little longer
		t.Helper()
		require.Eventually(t, func() bool { return count() == want }, time.Minute, time.Millisecond)
	}
	becomes(0)
	policy := hostpolicy.Policy{Name: "narrow", Settings: settings}
	thread, err := policy.Start()
	require.NoError(t, err)
	defer thread.Close()
	var made backend.Instance
	at := backend.Placement{Name: "m_0_1", Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Instances: 1, HostPolicy: policy}
	thread.Do(func() { made, err = w.model.NewInstance(t.Context(), at) })
	require.NoError(t, err)
	require.Equal(t, 3, count(), "the thread, and two of the pool")
	require.Len(t, w.model.(*model).cpu.all, 2)
	thread.Do(func() { err = made.Close() })
	require.NoError(t, err)
	becomes(1)
}

// TestBoundPlan: pools are as large as the processors of the policy.
func TestBoundPlan(t *testing.T) {
	t.Parallel()
	at := backend.Placement{}
	require.Equal(t, 8, processors(8, at))
	at.HostPolicy.Settings = map[string]string{hostpolicy.Cores: "0-2"}
	require.Equal(t, 3, processors(8, at))
	require.Equal(t, 2, processors(2, at))
}
