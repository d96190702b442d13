package python

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// willing evaluates what the file "answer" in its folder says when its readiness is asked.
const willing = `
import asyncio, os, time
class TritonPythonModel:
    def initialize(self, args):
        self.calls, self.dir = 0, args["model_repository"]
    def is_ready(self):
        self.calls += 1
        with open(os.path.join(self.dir, "answer")) as f: return eval(f.read())
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.full(1, self.calls, np.float32))]) for r in requests]
    def wait(self, name):
        while not os.path.exists(os.path.join(self.dir, name)): time.sleep(0.001)
        return True
    def sleep(self):
        async def main():
            await asyncio.sleep(0)
            return True
        return main()
`

// answer sets what is_ready does.
func (h *harness) answer(expression string) {
	h.touch("answer", expression)
}

// touch writes a file in the model's folder.
func (h *harness) touch(name, text string) {
	path := filepath.Join(filepath.Dir(h.spec.Dir), name)
	require.NoError(h.t, os.WriteFile(path+"~", []byte(text), 0o644))
	require.NoError(h.t, os.Rename(path+"~", path))
}

// calls returns how often is_ready was called.
func (h *harness) calls() float32 {
	responses, err := h.run(h.request(tensor.FP32, tensor.Shape{1}, floats(1)))
	require.NoError(h.t, err)
	defer releaseAll(responses)
	return math.Float32frombits(binary.LittleEndian.Uint32(bytesOf(&responses[0].Outputs[0].Data)))
}

// TestIsReady has the texts and codes of NVIDIA's backend.
func TestIsReady(t *testing.T) {
	t.Parallel()
	h := newHarness(t, willing)
	require.NoError(t, h.load())
	check := h.instance.(backend.ReadinessChecker).CheckReady
	for expression, want := range map[string]string{
		"True": "", "self.sleep()": "",
		"False":          "Model 'm_0' is not ready (user-defined check failed).",
		"1":              "is_ready() must return a boolean value",
		"None":           "is_ready() must return a boolean value",
		"np.bool_(True)": "is_ready() must return a boolean value",
		"asyncio":        "is_ready() must return a boolean value",
		"1 / 0":          "ZeroDivisionError: division by zero\n\nAt:\n  <string>(1): <module>\n  ",
		"exit(3)":        "SystemExit: 3",
	} {
		h.answer(expression)
		err := check()
		if want == "" {
			require.NoError(t, err, expression)
			continue
		}
		require.ErrorContains(t, err, want, expression)
		code := status.Internal
		if expression == "False" {
			code = status.Unavailable
		}
		require.Equal(t, code, status.CodeOf(err), expression)
	}
	require.EqualValues(t, 9, h.calls())
}

// TestIsReadyShared: while is_ready runs, batches run, and other callers wait for its result.
// After the timeout they get an error, and the call goes on.
func TestIsReadyShared(t *testing.T) {
	t.Parallel()
	h := newHarness(t, willing)
	h.answer("self.wait('go')")
	require.NoError(t, h.load())
	in := h.instance.(checkedInstance)
	readiness := &in.events.readiness
	readiness.timeout = time.Millisecond
	err := in.CheckReady()
	require.ErrorContains(t, err, "Timed out waiting for user-defined is_ready() response")
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	err = in.CheckReady()
	require.ErrorContains(t, err, "Timed out waiting for in-flight is_ready() response")
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	require.Eventually(t, func() bool { return h.calls() > 0 }, waitFor, tick)
	require.EqualValues(t, 1, h.calls())

	readiness.timeout = waitFor
	var asking sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		asking.Go(func() { errs[i] = in.CheckReady() })
	}
	h.touch("go", "")
	asking.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	h.answer("False")
	require.ErrorContains(t, in.CheckReady(), "user-defined check failed")
}

// TestIsReadyDeath: the end of the child ends the call, and those after it.
func TestIsReadyDeath(t *testing.T) {
	t.Parallel()
	h := newHarness(t, willing)
	h.answer("os._exit(3)")
	require.NoError(t, h.load())
	in := h.instance.(checkedInstance)
	in.events.readiness.timeout = waitFor
	err := in.CheckReady()
	require.EqualError(t, err, "Stub process is not healthy while waiting for user-defined is_ready() response")
	require.Equal(t, status.Internal, status.CodeOf(err))
	err = in.CheckReady()
	require.EqualError(t, err, "Stub process 'm_0' is not healthy.")
	require.Equal(t, status.Internal, status.CodeOf(err))
}

// TestNoIsReady: an instance without is_ready has no readiness check.
func TestNoIsReady(t *testing.T) {
	t.Parallel()
	h := newHarness(t, echo)
	require.NoError(t, h.load())
	require.NotImplements(t, (*backend.ReadinessChecker)(nil), h.instance)
}
