package server_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// mortal is the head of the models of TestPythonKills. A model keeps its process ID in
// files, and dies where the second number of an input says: 10 * place + manner.
const mortal = `
import os, signal, sys, threading, time
import numpy as np
def note(event):
    path = os.path.join(%q, os.path.basename(os.path.dirname(os.path.dirname(__file__))) + "." + event)
    with open(path + ".new", "w") as f: f.write(str(os.getpid()))
    os.rename(path + ".new", path)
note("imported")
def die(manner):
    print("dying in manner", manner, file=sys.stderr, flush=True)
    if manner == 0: os.kill(os.getpid(), signal.SIGKILL)
    if manner == 1: os.kill(os.getpid(), signal.SIGSEGV)
    if manner == 2: os._exit(3)
    os.close(3), os.close(4), time.sleep(60)
def place(x, place):
    n = int(x[0, 1])
    if n >= 10 and n // 10 == place: die(n %% 10)
def out(x): return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x)])
def data(r): return pb_utils.get_input_tensor_by_name(r, "IN").as_numpy()
class TritonPythonModel:
    def initialize(self, args):
        time.sleep(0.02)
        self.total = {}
        note("ready")
    def execute(self, requests):
        answers = []
        for r in requests:
            x = data(r)
            place(x, 1)
            answers.append(self.answer(r, x))
            n = int(x[0, 1])
            if n // 10 == 2: threading.Timer(np.random.rand() / 500, die, (n %% 10,)).start()
        return self.result(answers)
    def result(self, answers): return answers
    def finalize(self): time.sleep(0.01)
`

// mortals are the models, by name: the configuration, and the rest of the class.
var mortals = map[string][2]string{
	"unary": {"dynamic_batching { }\n", `
    def answer(self, r, x):
        time.sleep(0.001)
        return out(x * 2)
`},
	"stream": {"dynamic_batching { } model_transaction_policy { decoupled: true }\n", `
    def result(self, answers): pass
    def answer(self, r, x):
        threading.Thread(target=self.send, args=(r, x)).start()
    def send(self, r, x):
        s = r.get_response_sender()
        for i in range(5):
            s.send(out(np.repeat(x * 2, i * 100 + 1)[None]))
            if i == 2: place(x, 3)
        s.send(flags=1)
`},
	"caller": {"dynamic_batching { }\n", `
    def answer(self, r, x):
        of = x - [[0, 40 if x[0, 1] >= 50 else x[0, 1]]]
        call = pb_utils.InferenceRequest(inputs=[pb_utils.Tensor("IN", of.astype(np.float32))], requested_output_names=["OUT"], model_name="callee")
        if x[0, 1] // 10 == 4: threading.Timer(np.random.rand() / 500, die, (int(x[0, 1]) % 10,)).start()
        response = call.exec()
        if response.has_error(): return pb_utils.InferenceResponse(error=response.error())
        return out(response.output_tensors()[0].as_numpy())
`},
	"callee": {"dynamic_batching { }\n", `
    def answer(self, r, x):
        time.sleep(0.001)
        return out(x * 2)
`},
	"sequence": {"sequence_batching { direct { } max_sequence_idle_microseconds: 60000000 }\n", `
    def answer(self, r, x):
        id = r.correlation_id()
        if id == 0: return out(x)  # of a slot without a sequence
        if r.flags() & 1: self.total[id] = 0
        self.total[id] += x
        return out(x * 2)
`},
}

// calls calls a model until the end.
func (x *kills) calls(model string, rng *rand.Rand) {
	for !x.ended.Load() && x.wrong.Load() == nil {
		x.paused.RLock()
		x.ask(model, 0, rng.Uint64())
		x.paused.RUnlock()
		time.Sleep(2 * time.Millisecond) // leaves the processors to the starts
	}
}

func (x *kills) answered(model string) *atomic.Int64 {
	n, _ := x.right.LoadOrStore(model, &atomic.Int64{})
	return n.(*atomic.Int64)
}

// ask sends one request, or a sequence of three, and reports whether all answers are right.
func (x *kills) ask(model string, death float32, id uint64) bool {
	if model != "sequence" {
		return x.request(model, death, func(*infer.Request) {})
	}
	id = id>>1 | 1
	for i := range 3 {
		last := death
		if i != 1 {
			last = 0 // in the middle of the sequence
		}
		if !x.request(model, last, func(r *infer.Request) { r.SequenceID, r.SequenceStart, r.SequenceEnd = id, i == 0, i == 2 }) {
			return false
		}
	}
	return true
}

// causes are in the errors of requests that a kill has ended.
var causes = []string{
	"is not healthy. The cause: the process was ended by signal ",
	"is not healthy. The cause: the process exited with code 3. Its last lines on the standard error:\ndying in manner 2",
	"broke before it answered",
	"is not ready", "is not found", "has no available versions", "is unavailable", "is shutting down", "unloading", // meanwhile
	"must specify the START flag", // its sequence ended with the process
	"has no working instance left",
	"the sequence has ended: its instance of model ",
}

func (x *kills) request(model string, death float32, change func(*infer.Request)) bool {
	m, err := x.server.Service().Model(model, "")
	if err != nil {
		return x.cause(model, err)
	}
	defer m.Release()
	r, k := infer.NewRequest(), infertest.NewSink()
	defer r.Release()
	value := rand.Float32()
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.FP32, append(in.Shape, 1, 2)
	raw, _ := binary.Append(nil, binary.LittleEndian, []float32{value, death})
	in.Data = tensor.NewData(tensor.HeapBuffer(raw))
	change(r)
	r.Sink = k
	wrong := false
	k.Format = func(resp *infer.Response) string {
		if resp.Err == nil && (len(resp.Outputs) != 1 || !bytes.HasPrefix(outputOf(resp), binary.LittleEndian.AppendUint32(nil, math.Float32bits(value*2)))) {
			wrong = true
		}
		return "response"
	}
	if err := m.Submit(r); err != nil {
		return x.cause(model, err)
	}
	select {
	case <-k.Done():
	case <-time.After(time.Minute):
		x.wrong.CompareAndSwap(nil, "a request of "+model+" does not end")
		return false
	}
	err = k.Wait()
	if n := k.Ends(); n != 1 || wrong {
		x.wrong.CompareAndSwap(nil, fmt.Sprintf("a request of %s ended %d times, wrong: %v", model, n, wrong))
	}
	if err != nil {
		return x.cause(model, err)
	}
	x.answered(model).Add(1)
	return true
}

// cause checks the error of a request.
func (x *kills) cause(model string, err error) bool {
	x.failed.Add(1)
	time.Sleep(time.Millisecond) // of the machine for others
	for _, c := range causes {
		if strings.Contains(err.Error(), c) {
			return false
		}
	}
	x.wrong.CompareAndSwap(nil, fmt.Sprintf("%s: an error without a cause: %v", model, err))
	return false
}

func outputOf(resp *infer.Response) []byte {
	b := make([]byte, resp.Outputs[0].Data.Len())
	resp.Outputs[0].Data.CopyTo(b)
	return b
}
