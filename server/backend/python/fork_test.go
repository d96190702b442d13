package python

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// A process that model.py has forked off cannot answer for the instance: what it returns, forgets
// or sends does not reach the server. What it logs and prints does.
func TestFork(t *testing.T) {
	t.Parallel()
	h := newHarness(t, `
import os, sys
class TritonPythonModel:
    def execute(self, requests):
        how = requests[0].request_id()
        if how == "return" and os.fork() == 0:
            return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.zeros(5, np.uint8))]) for r in requests]
        if how == "forget":
            read, write = os.pipe()
            if os.fork() == 0:
                pb_utils.Logger.log_warn("from the fork")
                print("printed", flush=True)
                try: requests[0].get_response_sender().send(flags=1)
                except Exception as e: print("error:", e, flush=True)
                try: requests[0].get_response_sender().send(pb_utils.InferenceResponse([]), flags=1)
                except Exception as e: print("error:", e, flush=True)
                requests = None
                os.write(write, b"x")
                os._exit(0)
            os.read(read, 1)
            os.close(read), os.close(write)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
`)
	require.NoError(t, h.load())
	for i, how := range []string{"return", "", "forget", "", "return", ""} {
		data := floats(1000 + i)
		r := h.request(tensor.FP32, tensor.Shape{int64(1000 + i)}, data)
		r.ID = how
		responses, err := h.run(r)
		require.NoError(t, err, how)
		require.NoError(t, responses[0].Err)
		require.Equal(t, data, bytesOf(&responses[0].Outputs[0].Data), strconv.Itoa(i))
		responses[0].Release()
	}
	for _, text := range []string{"from the fork", "msg=printed", "error: a process that model.py has forked off cannot answer requests"} {
		require.Eventually(t, func() bool { return strings.Contains(h.logged(), text) }, waitFor, tick, text)
	}
}

const forking = calling + `
import gc, multiprocessing, os, signal, subprocess, time
fork = multiprocessing.get_context("fork")
kept = []
def same(size):
    x = np.full((1, size), size, np.float32)
    y = ask(x, request_id="same").exec().output_tensors()[0].as_numpy()
    return np.array_equal(x, y)
def threads(n):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(4) as pool: return all(pool.map(same, [n, 70000, 2, 5000] * 5))
def gathered(n):
    async def run():
        return [show(x) for x in await asyncio.gather(*(ask(request_id="same").async_exec() for _ in range(n)))]
    return asyncio.run(run())
def stream(n):
    return [show(x) for x in ask(model="many", request_id=str(n)).exec(decoupled=True)]
def failing(_): return show(ask(request_id="fail").exec()), show(ask(model="none").exec())
def keep(n):
    kept.append([ask(np.zeros((1, n), np.float32), request_id="same").exec() for _ in range(5)])
    return "kept"
def nested(n):
    with fork.Pool(1) as pool: return pool.map(same, [n, n])
def stuck(pipe):
    it = ask(model="silent", request_id="stuck").exec(decoupled=True)
    os.write(pipe, b"x")
    next(it)
def killed():
    """Ends a process that waits for a response."""
    read, write = os.pipe()
    p = fork.Process(target=stuck, args=(write,))
    p.start()
    os.read(read, 1)
    p.kill(), p.join(), os.close(read), os.close(write)
    return p.exitcode
def handled():
    """Ends a process by the signal that the model handles."""
    before = signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
    p = fork.Process(target=idle)
    p.start()
    signal.signal(signal.SIGTERM, before)
    p.terminate(), p.join()
    return p.exitcode
def idle():
    while True: time.sleep(0.01)
def early():
    """Ends a process that has not run yet."""
    p = fork.Process(target=idle)
    p.start(), p.terminate(), p.join(60)
    ended = p.exitcode
    p.kill(), p.join()
    return ended
def program():
    """Ends another program."""
    with subprocess.Popen(["sleep", "60"]) as p:
        p.terminate()
        return p.wait()
def outside(f, n):
    """Runs f in a process that may have children."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, str(f(n)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as r: text = r.read()
    os.wait()
    return text
def pool(n, f, args):
    with fork.Pool(n) as p: return p.map(f, args)
`

// Processes that model.py forks off may call other models. Their memory is given back when they
// end, and their calls are cancelled when they are killed.
func TestCallsOfForks(t *testing.T) {
	t.Parallel()
	cancelled := make(chan bool, 1)
	silent := newCallee(func(r *infer.Request) error {
		go func() {
			defer r.Release()
			for !r.Cancelled() {
				time.Sleep(tick)
			}
			cancelled <- true
			r.Respond(nil, true)
		}()
		return nil
	})
	many := newCallee(func(r *infer.Request) error {
		go func() {
			defer r.Release()
			n, _ := strconv.Atoi(r.ID)
			for range n {
				resp := infer.NewResponse()
				resp.Add("OUT", tensor.Uint8, tensor.Shape{10000}, tensor.NewData(tensor.HeapBuffer(make([]byte, 10000))))
				r.Respond(resp, false)
			}
			r.Respond(nil, true)
		}()
		return nil
	})
	silent.decoupled, many.decoupled = true, true
	models := callees{"echo": newCallee(describeRequest), "silent": silent, "many": many}
	h := newHarness(t, forking)
	h.spec.Submitter = func() infer.Submitter { return models }
	require.NoError(t, h.load())
	for _, c := range [][2]string{
		{"pool(1, same, [3])", "[True]"},
		{"pool(4, same, [1, 1000, 5000, 70000] * 10)", "[" + strings.Repeat("True, ", 39) + "True]"},
		{"pool(2, threads, [1, 5000])", "[True, True]"},
		{"pool(1, gathered, [3])", "[[[[[0.0, 0.0]]], [[[0.0, 0.0]]], [[[0.0, 0.0]]]]]"},
		{"[len(x) for x in pool(2, stream, [0, 300])]", "[1, 301]"},
		{"pool(1, failing, [0])", `[('error 2 nope', "error 1 Model none - Error when running inference: Failed for execute the inference request. Model 'none' is not ready.")]`},
		{"pool(2, keep, [5000, 6000])", "['kept', 'kept']"},
		{"outside(nested, 5000)", "[True, True]"},
		{"killed()", "-9"},
		{"handled()", "7"},
		{"{early() for _ in range(30)}", "{-15}"},
		{"program()", "-15"},
		{"[len(pool(3, same, [1])) for _ in range(10)]", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"}, // two are terminated idle
		{"same(5000)", "True"},
	} {
		require.Equal(t, c[1], h.eval(c[0]), c[0])
	}
	require.True(t, <-cancelled)
	events := h.instance.(*instance).events
	require.Eventually(t, func() bool { // but for the block of the process itself
		events.mu.Lock()
		defer events.mu.Unlock()
		return len(events.mu.blocks) <= 1 && len(events.mu.calls) == 0
	}, waitFor, tick)
	for name, m := range models {
		require.Eventually(t, func() bool { return len(m.held) == 0 }, waitFor, tick, name)
	}
}
