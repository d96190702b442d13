package python

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// abusing evaluates the ID of a request and returns its input.
const abusing = `
import os, sys, subprocess, threading
class TritonPythonModel:
    def execute(self, requests):
        for r in requests: exec(r.request_id())
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
`

// ask runs one request with an ID, and returns its error.
func (h *harness) ask(id string) error {
	h.t.Helper()
	data := floats(100)
	r := h.request(tensor.FP32, tensor.Shape{100}, data)
	r.ID = id
	responses, err := h.run(r)
	if err == nil {
		require.NoError(h.t, responses[0].Err)
		require.Equal(h.t, data, bytesOf(&responses[0].Outputs[0].Data))
	}
	releaseAll(responses)
	return err
}

// A model that closes or floods its standard streams, or writes to the memory file, goes on.
func TestModelsGoOn(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"stdin and stdout closed": "os.close(0), os.close(1)",
		"stderr closed":           "os.close(2)",
		"closed in Python":        "sys.stdin.close(), sys.stdout.close(), sys.stderr.close()",
		"many lines":              "for _ in range(100): os.write(1, b'x' * 100 + b'\\n')",
		"a long line":             "os.write(2, b'y' * (1 << 20))",
		"not UTF-8":               "os.write(1, b'\\xff\\x00\\n' * 1000)",
		"a larger memory file":    "os.ftruncate(5, 1 << 30)",
		"out of memory":           "try: np.ones(1 << 40, np.uint8)\nexcept MemoryError: pass",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, abusing)
			require.NoError(t, h.load())
			for range 3 {
				_ = h.ask(code) // a second time may be an error of Python
				require.NoError(t, h.ask(""))
			}
			r := h.request(tensor.FP32, tensor.Shape{3 << 20}, make([]byte, 12<<20)) // needs more of the memory file
			responses, err := h.run(r)
			require.NoError(t, err)
			releaseAll(responses)
		})
	}
}

// A process that breaks the protocol is ended, and the cause says how.
func TestModelsThatBreakTheProtocol(t *testing.T) {
	t.Parallel()
	const ended = "Stub process 'm_0' is not healthy. The cause: the process "
	const killed = ended + "was ended by signal 9 (killed): "
	for name, c := range map[string]struct{ code, text string }{
		"control channel":          {"os.write(4, b'\\xff' * 8)", killed + "the control channel: malformed frame: a body of 4294967295 bytes"},
		"control channel, types":   {"os.write(4, b'\\0' * 64)", killed + "the control channel: malformed frame"},
		"control channel, results": {"os.write(4, b'\\x02\\0\\0\\0\\x13\\0\\0\\0ab')", killed + "the control channel: malformed frame"},
		"event channel":            {"os.write(6, b'\\0' * 1000); threading.Event().wait()", killed + "the event channel: malformed frame of type 0"},
		"event channel, large":     {"os.write(6, b'\\xff' * 8); threading.Event().wait()", killed + "the event channel: malformed frame: a body of 4294967295 bytes"},
		"event channel, not read":  {"while True: os.write(6, (b'\\x0c\\0\\0\\0\\x24\\0\\0\\0' + b'\\0' * 12) * 200)", killed + "it does not read its event channel"},
		"closed channels":          {"os.closerange(3, 7)", ended},
		"closed and still running": {"os.closerange(3, 7); threading.Event().wait()", ended},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "event channel, not read" && testing.Short() {
				t.Skip("64 MB of short frames take long; the package child has a test of its own")
			}
			h := newHarness(t, abusing)
			require.NoError(t, h.load())
			err := h.ask(c.code)
			require.ErrorIs(t, err, backend.ErrBroken)
			require.True(t, strings.HasPrefix(err.Error(), c.text), err.Error())
			require.LessOrEqual(t, strings.Count(h.logged(), "malformed frame"), 1)
		})
	}
}

// A process that is stopped holds up neither a request whose context ends nor the close.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	h := newHarness(t, abusing)
	h.spec.Settings["stub-timeout-seconds"] = "1"
	m, err := h.backend.Load(t.Context(), h.spec)
	require.NoError(t, err)
	for _, size := range []int{1, 4 << 20} { // the larger one does not fit into the pipe
		in, err := m.NewInstance(t.Context(), backend.Placement{Name: "m_0"})
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(in.(*instance).child.process.PID(), syscall.SIGSTOP))
		r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
		r.ID = strings.Repeat("#", size)
		var b infer.Batch
		b.Add(r)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		require.ErrorIs(t, in.Execute(ctx, &b), backend.ErrBroken)
		cancel()
		r.Release()
		r.Release()
		require.NoError(t, in.Close())
	}
	in, err := m.NewInstance(t.Context(), backend.Placement{Name: "m_0"})
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(in.(*instance).child.process.PID(), syscall.SIGSTOP))
	require.EqualError(t, in.Close(), "finalize of 'm_0' took longer than 1s (stub-timeout-seconds)")
	require.NoError(t, m.Close())
	require.Zero(t, h.backend.Outstanding())
}

// Processes that a model starts end with its process, if they stay in its group; a process
// in a group of its own lives on, and holds up nothing.
func TestProcessesOfAModel(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"False", "True"} {
		h := newHarness(t, abusing)
		m, err := h.backend.Load(t.Context(), h.spec)
		require.NoError(t, err)
		h.instance, err = m.NewInstance(t.Context(), backend.Placement{Name: "m_0"})
		require.NoError(t, err)
		require.NoError(t, h.ask("print('pid', subprocess.Popen(['sleep', '600'], start_new_session="+session+").pid, flush=True)"))
		pid := 0
		require.Eventually(t, func() bool {
			_, rest, ok := strings.Cut(h.logged(), "pid ")
			for _, c := range rest {
				if c < '0' || c > '9' {
					break
				}
				pid = 10*pid + int(c-'0')
			}
			return ok
		}, waitFor, tick)
		require.NoError(t, h.instance.Close())
		require.NoError(t, m.Close())
		alive := func() bool {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			return err == nil && !strings.Contains(string(stat), ") Z ")
		}
		if session == "True" {
			require.True(t, alive())
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
		require.Eventually(t, func() bool { return !alive() }, waitFor, tick)
	}
}
