package extension_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
)

func isolation(c *inferencepb.ModelConfig, pairs map[string]string) (extension.Isolation, []modelconfig.Finding) {
	c.Name, c.Parameters = "m", map[string]*inferencepb.ModelParameter{}
	for key, value := range pairs {
		c.Parameters[key] = &inferencepb.ModelParameter{StringValue: value}
	}
	return extension.ReadIsolation(modelconfig.New("", c))
}

func TestIsolation(t *testing.T) {
	t.Parallel()
	on, off := true, false
	for _, c := range []struct {
		pairs map[string]string
		want  extension.Isolation
	}{
		{nil, extension.Isolation{}},
		{map[string]string{"isolation": "process"}, extension.Isolation{Process: &on}},
		{map[string]string{"isolation": "none"}, extension.Isolation{Process: &off}},
		{
			map[string]string{
				"isolation_memory_limit_bytes": "1073741824", "isolation_cpus": "2, 0-1", "isolation_threads": "2", "isolation_nice": "5",
				"isolation_execute_limit_milliseconds": "1500",
			},
			extension.Isolation{Limits: extension.Process{Memory: 1 << 30, CPUs: []int{0, 1, 2}, Threads: 2, Nice: 5, Execute: 1500 * time.Millisecond}},
		},
	} {
		got, found := isolation(&inferencepb.ModelConfig{Backend: "onnxruntime"}, c.pairs)
		require.Empty(t, found)
		require.Equal(t, c.want, got)
	}
}

func TestIsolationMistakes(t *testing.T) {
	t.Parallel()
	for key, c := range map[string]struct{ value, backend, platform, want string }{
		"isolation":                            {"thread", "identity", "", "parameter 'isolation' of model 'm': 'thread' is neither process nor none"},
		"isolation_cpu":                        {"1", "identity", "", "parameter 'isolation_cpu' of model 'm': there is no such parameter"},
		"isolation_cpus":                       {"x", "identity", "", "parameter 'isolation_cpus' of model 'm': 'x' is not a list of processors such as 0-3,8, from 0 to 1023"},
		"isolation_memory_limit_bytes":         {"1000", "identity", "", "parameter 'isolation_memory_limit_bytes' of model 'm': '1000' is not a number from 268435456 to 1125899906842624"},
		"isolation_nice":                       {"5", "python", "", "parameter 'isolation_nice' of model 'm': Python models always run in processes of their own; their limits are python_*"},
		"isolation_execute_limit_milliseconds": {"5", "", "ensemble", "parameter 'isolation_execute_limit_milliseconds' of model 'm': an ensemble has no process of its own"},
	} {
		_, found := isolation(&inferencepb.ModelConfig{Backend: c.backend, Platform: c.platform}, map[string]string{key: c.value})
		require.Len(t, found, 1, key)
		require.Equal(t, c.want, found[0].Msg)
	}
}
