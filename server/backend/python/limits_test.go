package python

import (
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

func (h *harness) parameters(pairs ...string) {
	h.spec.Config.Parameters = map[string]*inferencepb.ModelParameter{}
	for i := 0; i < len(pairs); i += 2 {
		h.spec.Config.Parameters[pairs[i]] = &inferencepb.ModelParameter{StringValue: pairs[i+1]}
	}
}

// TestLimits: a child limits itself before it imports anything. An allocation over the
// memory limit is an error of the batch; the instance goes on.
func TestLimits(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("limits need Linux")
	}
	h := newHarness(t, `
import os, resource
class TritonPythonModel:
    def initialize(self, args):
        print("limits", resource.getrlimit(resource.RLIMIT_DATA), sorted(os.sched_getaffinity(0)), os.nice(0), os.environ["OMP_NUM_THREADS"])
    def execute(self, requests):
        n = int(requests[0].request_id())
        x = np.ones(n, np.uint8)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x[:1])])]
`)
	out, err := exec.CommandContext(t.Context(), interpreter(t), "-c", "import os; print(min(os.sched_getaffinity(0)), os.nice(0))").Output()
	require.NoError(t, err)
	cpu, nice, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	h.parameters("python_memory_limit_bytes", "536870912", "python_cpus", cpu, "python_nice", "0", "python_threads", "1")
	require.NoError(t, h.load())
	ask := func(size string) error {
		r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
		r.ID = size
		responses, err := h.run(r)
		releaseAll(responses)
		return err
	}
	require.ErrorContains(t, ask("1000000000"), "Unable to allocate 954. MiB")
	require.NoError(t, ask("1000"))
	require.Contains(t, h.end(), "limits (536870912, 536870912) ["+cpu+"] "+nice+" 1")

	for parameter, value := range map[string]string{"python_cpus": "1023", "python_memory_limit_bytes": "many"} {
		h := newHarness(t, echo)
		h.parameters(parameter, value)
		err := h.load()
		require.ErrorContains(t, err, parameter)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
}

// The text is NVIDIA's.
func TestForcedCPUInputs(t *testing.T) {
	t.Parallel()
	h := newHarness(t, echo)
	h.parameters("FORCE_CPU_ONLY_INPUT_TENSORS", "maybe")
	err := h.load()
	require.EqualError(t, err, "Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: maybe'")
	require.Equal(t, status.Unsupported, status.CodeOf(err))
	h.parameters("FORCE_CPU_ONLY_INPUT_TENSORS", "no")
	require.NoError(t, h.load())
}

// releaseAll gives responses back.
func releaseAll(responses []*infer.Response) {
	for _, r := range responses {
		r.Release()
	}
}

// The threads of a child have the server's priority, or that of python_nice, when code of the model runs:
// also those that numpy has started before.
func TestPriority(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("threads have priorities on Linux")
	}
	const nices = "sorted({os.getpriority(os.PRIO_PROCESS, int(n)) for n in os.listdir('/proc/self/task')})"
	out, err := exec.CommandContext(t.Context(), interpreter(t), "-c", "import os; print("+nices+"[0])").Output()
	require.NoError(t, err)
	usual, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	for parameter, more := range map[string]int{"": 0, "python_nice": 3} {
		h := newHarness(t, `
import os
print("at the import", `+nices+`)
class TritonPythonModel:
    def initialize(self, args):
        print("initialize", `+nices+`)
    def execute(self, requests):
        return []
`)
		if parameter != "" {
			h.parameters(parameter, strconv.Itoa(more))
		}
		require.NoError(t, h.load())
		printed := h.end()
		require.Contains(t, printed, fmt.Sprintf("at the import [%d]", min(usual+more, 19)))
		require.Contains(t, printed, fmt.Sprintf("initialize [%d]", min(usual+more, 19)))
	}
}
