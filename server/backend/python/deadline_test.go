package python

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/backend"
)

// A deadline is exceeded only by the call that runs too long: neither by the time between calls
// nor by several calls together.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		exceeded := 0
		d := newDeadline(time.Second, func() { exceeded++ })
		for range 5 {
			d.begin()
			time.Sleep(time.Second - time.Millisecond)
			d.end()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(t, exceeded)
		d.begin()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, exceeded)
		d.end()
		d.begin()
		d.check() // a timer that fired while the next call began
		d.end()
		d.check()
		require.Equal(t, 1, exceeded)
	})
	var none *deadline
	require.Nil(t, newDeadline(0, nil))
	none.begin()
	none.end()
}

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
