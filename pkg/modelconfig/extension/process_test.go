package extension_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
)

func TestProcess(t *testing.T) {
	t.Parallel()
	s, found := read(t, "python_requirements: requirements.txt", "python_memory_limit_bytes: 1073741824", "python_cpus: 4, 0-2,1", "python_threads: 2", "python_nice: 5", "python_execute_limit_milliseconds: 1500")
	require.Empty(t, found)
	require.Equal(t, &extension.Process{Requirements: "requirements.txt", Memory: 1 << 30, CPUs: []int{0, 1, 2, 4}, Threads: 2, Nice: 5, Execute: 1500 * time.Millisecond}, s.Process)

	for pair, want := range map[string]string{
		"python_requirements: ../r.txt":               "parameter 'python_requirements' of model 'm': '../r.txt' is not the path of a file in the model's folder",
		"python_requirements: ":                       "parameter 'python_requirements' of model 'm': '' is not the path of a file in the model's folder",
		"python_memory_limit_bytes: 1GB":              "parameter 'python_memory_limit_bytes' of model 'm': '1GB' is not a number from 67108864 to 1125899906842624",
		"python_memory_limit_bytes: 1000000":          "parameter 'python_memory_limit_bytes' of model 'm': '1000000' is not a number from 67108864 to 1125899906842624",
		"python_cpus: 3-1":                            "parameter 'python_cpus' of model 'm': '3-1' is not a list of processors such as 0-3,8, from 0 to 1023",
		"python_cpus: 0,,1":                           "parameter 'python_cpus' of model 'm': '0,,1' is not a list of processors such as 0-3,8, from 0 to 1023",
		"python_cpus: 1024":                           "parameter 'python_cpus' of model 'm': '1024' is not a list of processors such as 0-3,8, from 0 to 1023",
		"python_threads: 0":                           "parameter 'python_threads' of model 'm': '0' is not a number from 1 to 1024",
		"python_execute_limit_milliseconds: 0":        "parameter 'python_execute_limit_milliseconds' of model 'm': '0' is not a number from 1 to 86400000",
		"python_execute_limit_milliseconds: 86400001": "parameter 'python_execute_limit_milliseconds' of model 'm': '86400001' is not a number from 1 to 86400000",
		"python_execute_limit_milliseconds: 5s":       "parameter 'python_execute_limit_milliseconds' of model 'm': '5s' is not a number from 1 to 86400000",
		"python_nice: -1":                             "parameter 'python_nice' of model 'm': '-1' is not a number from 0 to 19",
	} {
		_, found := read(t, pair)
		require.Len(t, found, 1, pair)
		require.Equal(t, want, found[0].Msg)
		require.NotZero(t, found[0].Pos.Line)
	}
	c := modelconfig.New("", &inferencepb.ModelConfig{
		Name: "m", Backend: "onnxruntime", Parameters: map[string]*inferencepb.ModelParameter{"python_nice": {StringValue: "5"}},
	})
	_, found = extension.Read(c)
	require.Len(t, found, 1)
	require.Equal(t, "parameter 'python_nice' of model 'm': only Python models have processes of their own", found[0].Msg)
}
