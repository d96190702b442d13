package python

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/backend"
)

// A child whose execute does not return within the limit is killed, and the requests of the batch
// get the cause.
func TestExecuteLimit(t *testing.T) {
	t.Parallel()
	h := newHarness(t, `
class TritonPythonModel:
    def execute(self, requests):
        while True: pass
`)
	h.parameters("python_execute_limit_milliseconds", "200")
	require.NoError(t, h.load())
	first, second := h.request(tensor.FP32, tensor.Shape{1}, floats(1)), h.request(tensor.FP32, tensor.Shape{1}, floats(1))
	broken := h.instance.(backend.BreakNotifier).Broken()
	_, err := h.run(first, second)
	require.EqualError(t, err, "Stub process 'm_0' is not healthy. The cause: the process was ended by signal 9 (killed): "+
		"execute took longer than 200ms (python_execute_limit_milliseconds)")
	require.ErrorIs(t, err, backend.ErrBroken)
	require.ErrorContains(t, <-broken, "execute took longer than 200ms")
}
