package python

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// callees are the models that the model of a test may call.
type callees map[string]*callee

func (c callees) Acquire(name, version string) (infer.Callee, error) {
	m := c[name]
	if m == nil || version != "" && version != "1" {
		return nil, errors.New("no such model")
	}
	m.held <- struct{}{}
	return m, nil
}

// callee answers requests with a function.
type callee struct {
	infer.Callee
	decoupled bool
	held      chan struct{} // has an element for each reference
	submit    func(r *infer.Request) error
}

func (c *callee) Ready() bool       { return true }
func (c *callee) CheckReady() error { return nil }
func (c *callee) Release()          { <-c.held }
func (c *callee) Config() *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{ModelTransactionPolicy: &inferencepb.ModelTransactionPolicy{Decoupled: c.decoupled}}
}

func (c *callee) Submit(r *infer.Request) error {
	if err := c.submit(r); err != nil {
		r.Release()
		return err
	}
	return nil
}

func newCallee(submit func(r *infer.Request) error) *callee {
	return &callee{submit: submit, held: make(chan struct{}, 100)}
}

// describeRequest answers with what the request is.
func describeRequest(r *infer.Request) error {
	if r.Inputs[0].Name != "IN" {
		return status.New(status.InvalidArg, "unexpected inference input '%s' for model 'echo'", r.Inputs[0].Name)
	}
	go func() {
		defer r.Release()
		resp := infer.NewResponse()
		switch r.ID {
		case "fail":
			resp.Err = status.New(status.NotFound, "nope")
		case "large":
			resp.Add("OUT", tensor.Uint8, tensor.Shape{1 << 20}, tensor.NewData(tensor.HeapBuffer(make([]byte, 1<<20))))
		case "traced":
			resp.Err = fmt.Errorf("traced: %v", r.Trace != nil)
		case "same":
			resp.Add("OUT", r.Inputs[0].DataType, r.Inputs[0].Shape, r.Inputs[0].Data.Clone())
		default:
			names := ""
			for _, o := range r.Outputs {
				names += o.Name
			}
			in := &r.Inputs[0]
			text := fmt.Sprintf("%s %d %s %v %v %d %s %s %s %v %d", r.ID, r.SequenceID, r.SequenceIDStr, r.SequenceStart, r.SequenceEnd,
				r.TimeoutMicros, appendParameters(nil, r.Parameters), names, in.DataType, in.Shape, in.Data.Len())
			resp.Add("OUT", tensor.Bytes, tensor.Shape{1}, tensor.NewData(tensor.HeapBuffer(tensor.AppendElementString(nil, text))))
			resp.Parameters, _ = parseParameters(nil, []byte(`{"p":1}`))
		}
		r.Respond(resp, true)
	}()
	return nil
}

const calling = `
import asyncio
def ask(x=np.zeros((1, 2), np.float32), model="echo", **more):
    return pb_utils.InferenceRequest(inputs=[pb_utils.Tensor(more.pop("input", "IN"), x)],
        requested_output_names=more.pop("outputs", ["OUT"]), model_name=model, **more)
def show(r):
    if r.has_error(): return f"error {int(r.error().code())} {r.error().message()}"
    return [o.as_numpy().tolist() if o.as_numpy().size < 9 else o.shape() for o in r.output_tensors()]
class TritonPythonModel:
    def initialize(self, args):
        try: ask().exec()
        except pb_utils.TritonModelException as e: self.early = e
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([str(eval(r.request_id(), globals(), {"self": self, "r": r}))], dtype=object))]) for r in requests]
    def gather(self, *calls):
        async def run():
            return [show(x) for x in await asyncio.gather(*(c.async_exec() for c in calls))]
        return asyncio.run(run())
    def iterate(self, call):
        async def run():
            return [show(x) for x in await call.async_exec(decoupled=True)]
        return asyncio.run(run())
    def cancel(self, call):
        it = call.exec(decoupled=True)
        first = show(next(it))
        it.cancel()
        return first, [show(x) for x in it][1:]
    def threads(self, n, times, gather):
        """Calls from many threads, of which any may read the answers of the others."""
        from concurrent.futures import ThreadPoolExecutor
        wrong = []
        def same(i):
            for j in range(times):
                size = 1 + (i * times + j) % 5 * 700  # in frames and in blocks
                x = np.full((1, size), i * times + j, np.float32)
                y = ask(x, request_id="same").exec().output_tensors()[0].as_numpy()
                if not np.array_equal(x, y): wrong.append((i, j))
        with ThreadPoolExecutor(n) as pool:
            work = [pool.submit(same, i) for i in range(n)]
            if gather: self.gather(*(ask(request_id="same") for _ in range(50)))
            same(n)
            for w in work: w.result()
        return wrong
    def late(self, call, path):
        """Counts the responses to a call, when the file exists."""
        import os, time
        it, end = call.exec(decoupled=True), time.monotonic() + 60
        while not os.path.exists(path) and time.monotonic() < end: time.sleep(0.01)
        return len(list(it))
    def twice(self, call):
        it = call.exec(decoupled=True)
        return len(list(it)), len(list(it)), show(next(iter(it)))
`

func newCaller(t *testing.T, models callees) *harness {
	t.Helper()
	h := newHarness(t, calling)
	h.spec.Submitter = func() infer.Submitter { return models }
	require.NoError(t, h.load())
	t.Cleanup(func() {
		for _, m := range models {
			require.Eventually(t, func() bool { return len(m.held) == 0 }, waitFor, tick)
		}
	})
	return h
}

// eval returns what the expression is in the model.
func (h *harness) eval(expression string) string {
	h.t.Helper()
	r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
	r.ID, r.Trace = expression, traced{}
	responses, err := h.run(r)
	require.NoError(h.t, err)
	require.NoError(h.t, responses[0].Err)
	defer responses[0].Release()
	return string(bytesOf(&responses[0].Outputs[0].Data)[4:])
}

// Each thread gets the answers to its own calls, without and with a thread that only reads.
func TestCallsOfThreads(t *testing.T) {
	t.Parallel()
	h := newCaller(t, callees{"echo": newCallee(describeRequest)})
	require.Equal(t, "[]", h.eval("self.threads(1, 50, False)"))
	require.Equal(t, "[]", h.eval("self.threads(8, 50, False)"))
	require.Equal(t, "[]", h.eval("self.threads(8, 50, True)"))
	require.Equal(t, "[]", h.eval("self.threads(8, 50, False)"))
}

// The texts are NVIDIA's, recorded from its server.
func TestCalls(t *testing.T) {
	t.Parallel()
	many := newCallee(func(r *infer.Request) error {
		go func() {
			defer r.Release()
			for i := range 3 {
				resp := infer.NewResponse()
				resp.Add("OUT", tensor.Uint8, tensor.Shape{1}, tensor.NewData(tensor.HeapBuffer([]byte{byte(i)})))
				r.Respond(resp, false)
			}
			for r.ID == "wait" && !r.Cancelled() {
				time.Sleep(time.Millisecond)
			}
			r.Respond(nil, true)
		}()
		return nil
	})
	many.decoupled = true
	h := newCaller(t, callees{"echo": newCallee(describeRequest), "many": many})
	for _, c := range [][2]string{
		{"self.early", "BLS is only supported during the 'execute' function."},
		{"show(ask().exec())", "[[b' 0  false false 0  OUT FP32 [1,2] 8']]"},
		{"show(ask(model=b'echo', outputs=[b'A', 'B'], request_id='i', correlation_id='c', flags=3, timeout=5, parameters={'a': 1, 'b': True, 'c': 'd'}, trace=r.trace(), preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)).exec())", ""},
		{"show(ask(correlation_id=7, model_version=1, outputs=[]).exec())", "[[b' 7  false false 0   FP32 [1,2] 8']]"},
		{"ask().exec().parameters()", `{"p":1}`},
		{"show(ask(request_id='fail').exec())", "error 2 nope"},
		{"show(ask(request_id='traced', trace=r.trace()).exec())", "error 1 traced: true"},
		{"show(ask(request_id='traced').exec())", "error 1 traced: false"},
		{"show(ask(request_id='large').exec())", "[[1048576]]"},
		{"show(ask(r.inputs()[0].as_numpy(), request_id='same').exec())", "[[0.0]]"},
		{"show(ask(np.arange(300000), request_id='same').exec())", "[[300000]]"},
		{"show(pb_utils.InferenceRequest(inputs=r.inputs(), requested_output_names=[], model_name='echo', request_id='same').exec())", "[[0.0]]"},
		{"show(ask(np.array(['a', b'b'], dtype=object), request_id='same').exec())", "[[b'a', b'b']]"},
		{"show(ask(model='none').exec())", "error 1 Model none - Error when running inference: Failed for execute the inference request. Model 'none' is not ready."},
		{"show(ask(model_version=7).exec())", "error 1 Model echo - Error when running inference: Failed for execute the inference request. Model 'echo' is not ready."},
		{"show(ask(input='X').exec())", "error 1 Model echo - Error when running inference: unexpected inference input 'X' for model 'echo'"},
		{"show(ask(model='many').exec())", "error 1 Model many - Error when running inference: Model many is using the decoupled. The current BLS request call doesn't support models using the decoupled transaction policy. Please use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for decoupled models.'"},
		{"[show(x) for x in ask(model='many').exec(decoupled=True)]", "[[[0]], [[1]], [[2]], []]"},
		{"[show(x) for x in ask(request_id='fail').exec(decoupled=True)]", "['error 2 nope']"},
		{"self.twice(ask(model='many'))", "(4, 4, [[0]])"},
		{"self.gather(ask(model='none'), *[ask(request_id='same')] * 3)", "[\"error 1 Model none - Error when running inference: Failed for execute the inference request. Model 'none' is not ready.\", [[[0.0, 0.0]]], [[[0.0, 0.0]]], [[[0.0, 0.0]]]]"},
		{"self.iterate(ask(model='many'))", "[[[0]], [[1]], [[2]], []]"},
		{"self.cancel(ask(model='many', request_id='wait'))", "([[0]], [[[2]], []])"},
		{"sum(ask(np.zeros(100000), request_id='same').exec().output_tensors()[0].as_numpy().size for _ in range(50))", "5000000"},
	} {
		got := h.eval(c[0])
		if c[1] == "" {
			require.Contains(t, []string{"[[b'i 0 c true true 5 {\"a\":1,\"b\":true,\"c\":\"d\"} AB FP32 [1,2] 8']]", "[[b'i 0 c true true 5 {\"a\":1,\"b\":true,\"c\":\"d\"} BA FP32 [1,2] 8']]"}, got)
			continue
		}
		require.Equal(t, c[1], got, c[0])
	}
	require.LessOrEqual(t, len(h.instance.(*instance).events.mu.blocks), 3, "memory of calls that are over")
}

// A call whose callers have left ends, also when the model that was called does not
// notice; so does one of a child that dies.
func TestCallsEnd(t *testing.T) {
	t.Parallel()
	stuck := make(chan *infer.Request, 10)
	h := newCaller(t, callees{"stuck": newCallee(func(r *infer.Request) error {
		stuck <- r
		return nil
	})})
	r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
	r.ID = "show(ask(model='stuck').exec())"
	ctx, cancel := context.WithCancel(t.Context())
	r.CancelWith(ctx)
	var b infer.Batch
	b.Add(r)
	var called *infer.Request
	go func() {
		called = <-stuck
		cancel()
	}()
	require.NoError(t, h.instance.Execute(t.Context(), &b))
	resp := infer.NewResponse()
	require.True(t, called.Cancelled())
	called.Respond(resp, true)
	called.Release()
	got, err := r.Wait(context.Background())
	require.NoError(t, err)
	require.Equal(t, "error 7 the callers of the model have left", string(bytesOf(&got.Outputs[0].Data)[4:]))
	got.Release()
	r.Release()
	r.Release()

	done := make(chan error)
	go func() {
		r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
		r.ID = "show(ask(model='stuck').exec())"
		_, err := h.run(r)
		done <- err
	}()
	called = <-stuck
	h.instance.(*instance).child.process.Kill()
	require.ErrorContains(t, <-done, "The cause: the process was ended by signal 9 (killed)")
	require.True(t, called.Cancelled())
	called.Respond(infer.NewResponse(), true)
	called.Release()
}

// Arguments that NVIDIA's native module refuses.
func TestCallArguments(t *testing.T) {
	t.Parallel()
	h := newCaller(t, callees{})
	R := "pb_utils.InferenceRequest("
	for _, c := range [][2]string{
		{R + "inputs=[], requested_output_names=[])", "TypeError: __init__(): incompatible constructor arguments."},
		{R + "model_name='a', requested_output_names=[])", "TypeError: __init__(): incompatible constructor arguments."},
		{R + "model_name='a', inputs=[5], requested_output_names=[])", "TypeError: __init__(): incompatible constructor arguments."},
		{R + "'a', 1.5, [], [], 'a')", "TritonModelException: Correlation ID must be integer or string"},
		{R + "'a', -1, [], [], 'a')", "RuntimeError: Unable to cast Python instance to C++ type"},
		{R + "'a', 1, [None], [], 'b')", "TritonModelException: Input tensor for request with id 'a' and model name 'b' should not be empty."},
		{R + "'a', 1, [], [''], 'b')", "TritonModelException: Requested output name for request with id 'a' and model name 'b' should not be empty."},
		{R + "'', 1, [], [], 'b', parameters={'a': 1.5})", "TritonModelException: Expect parameters values to have type bool/int/str, found type <class 'float'>"},
		{R + "'', 1, [], [], 'b', parameters={1: 1})", "TritonModelException: Expect parameters keys to have type str, found type <class 'int'>"},
		{R + "'', 1, [], [], 'b', parameters=5)", "TritonModelException: Expect N8pybind114dictE, got <class 'int'>"},
		{R + "'', 1, [], [], 'b').async_exec()", "RuntimeError: no running event loop"},
		{R + "'', 1, [], [], 'b', preferred_memory=None)", "TypeError: __init__(): incompatible constructor arguments."},
		{"pb_utils.PreferredMemory()", "TypeError: __init__(): incompatible constructor arguments. The following argument types are supported:\n    1. c_python_backend_utils.PreferredMemory(preferred_memory_type: triton::backend::python::PreferredMemory::MemoryType, preferred_device_id: int = 0)\n\nInvoked with: \n"},
		{"pb_utils.PreferredMemory(0)", "TypeError: __init__(): incompatible constructor arguments."},
		{"pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_GPU, 1.5)", "TypeError: __init__(): incompatible constructor arguments."},
		{"pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_GPU, 1 << 70)", "TypeError: __init__(): incompatible constructor arguments."},
	} {
		r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
		r.ID = c[0]
		_, err := h.run(r)
		require.ErrorContains(t, err, "message: "+c[1], c[0])
	}
	require.Equal(t, "('', 0, [], 2, 0, 0, '{}', False, None)", h.eval("(lambda q: (q.request_id(), q.correlation_id(), q.inputs(), len(q.requested_output_names()), q.flags(), q.timeout(), q.parameters(), q.is_cancelled(), q.trace().get_context()))("+R+"model_name='echo', inputs=[], requested_output_names=['A', 'B', 'A']))"))
	require.True(t, strings.HasPrefix(h.eval(R+"'', 1, [], [], 'b')"), "<c_python_backend_utils.InferenceRequest object"))
}

// TestPreferredMemory: outputs in the memory of the CPU are what calls give anyhow; on a GPU
// they are an error, as in NVIDIA's backend on a machine without one.
func TestPreferredMemory(t *testing.T) {
	t.Parallel()
	echo := newCallee(func(r *infer.Request) error {
		defer r.Release()
		resp := infer.NewResponse()
		if r.ID == "failed" {
			resp.Err = status.New(status.NotFound, "not here")
		} else {
			resp.Add("OUT", tensor.Uint8, tensor.Shape{1}, tensor.NewData(tensor.HeapBuffer([]byte{7})))
		}
		r.Respond(resp, true)
		return nil
	})
	h := newCaller(t, callees{"echo": echo})
	call := func(memory, id string) string {
		return h.eval("show(ask(preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_" + memory + "), request_id='" + id + "').exec())")
	}
	plain := h.eval("show(ask().exec())")
	require.Equal(t, plain, call("CPU, -5", ""))
	require.Equal(t, plain, call("CPU", ""))
	require.Contains(t, call("GPU, 1", ""), "BackendMemory::Create, all allocation types failed:")
	require.Contains(t, call("GPU", "failed"), "not here")
	require.Equal(t, "([<MemoryType.TRITONSERVER_MEMORY_GPU: 0>, <MemoryType.TRITONSERVER_MEMORY_CPU: 1>], 0)",
		h.eval("[pb_utils.TRITONSERVER_MEMORY_GPU, pb_utils.TRITONSERVER_MEMORY_CPU], int(pb_utils.TRITONSERVER_MEMORY_GPU)"))
}
