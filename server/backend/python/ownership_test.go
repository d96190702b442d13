package python

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// disposer does with its input what the request ID says.
const disposer = `
kept = []
class TritonPythonModel:
    def execute(self, requests):
        self.earlier = list(kept)
        return [pb_utils.InferenceResponse([self.answer(r)]) for r in requests]
    def answer(self, request):
        how = request.request_id()
        tensor = request.inputs()[0]
        if how == "untouched":
            return tensor
        array = tensor.as_numpy()
        if how == "input":
            return tensor
        if how == "half":
            return pb_utils.Tensor("OUT", array[len(array) // 2:])
        if how == "reversed":
            return pb_utils.Tensor("OUT", array[::-1])
        if how == "add":
            array += 1
        if how == "keep":
            kept.append(array)
        if how == "keep tensor":
            kept.append(tensor)
        if how == "keep part":
            kept.append(array[:1])
        if how == "overwrite":
            for k in self.earlier:
                (k.as_numpy() if isinstance(k, pb_utils.Tensor) else k)[:] = 255
            del kept[:len(self.earlier)]
            self.earlier = []
        if how == "new":
            array = np.array(array)
        return pb_utils.Tensor("OUT", array)
`

// expected is what disposer answers.
func expected(how string, in []byte) []byte {
	out := bytes.Clone(in)
	switch how {
	case "half":
		return out[len(out)/2:]
	case "reversed":
		for i := range len(out) / 2 {
			out[i], out[len(out)-1-i] = out[len(out)-1-i], out[i]
		}
	case "add":
		for i := range out {
			out[i]++
		}
	}
	return out
}

// Responses keep their bytes whatever the model does later with arrays that it has kept, and
// while the memory of other requests is used again.
func TestResponsesAreTheirOwn(t *testing.T) {
	t.Parallel()
	h := newHarness(t, disposer)
	require.NoError(t, h.load())
	type answer struct {
		how  string
		want []byte
		resp *infer.Response
	}
	var open []answer
	verify := func(n int) {
		for _, a := range open[:n] {
			require.True(t, bytes.Equal(a.want, bytesOf(&a.resp.Outputs[0].Data)), "%s of %d bytes", a.how, len(a.want))
			a.resp.Release()
		}
		open = open[n:]
	}
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	ways := []string{"untouched", "input", "half", "reversed", "add", "keep", "keep tensor", "keep part", "overwrite", "new", ""}
	sizes := []int{1, 100, inlineBytes - 1, inlineBytes, inlineBytes + 1, 10_000, 100_000, 3 << 20}
	for range 40 {
		var requests []*infer.Request
		var answers []answer
		for range 1 + r.IntN(4) {
			how, in := ways[r.IntN(len(ways))], make([]byte, sizes[r.IntN(len(sizes))])
			for i := range in {
				in[i] = byte(i) ^ byte(r.Uint32())
			}
			request := h.request(tensor.Uint8, tensor.Shape{int64(len(in))}, bytes.Clone(in))
			if r.IntN(2) == 0 {
				h.own(request, in)
			}
			request.ID = how
			request.Outputs = append(request.Outputs[:0], kserve.RequestedOutput{Name: "OUT"}, kserve.RequestedOutput{Name: "IN"})
			requests, answers = append(requests, request), append(answers, answer{how: how, want: expected(how, in)})
		}
		responses, err := h.run(requests...)
		require.NoError(t, err)
		for i, resp := range responses {
			require.NoError(t, resp.Err)
			requests[i].ReleaseInputs()
			answers[i].resp = resp
		}
		open = append(open, answers...)
		verify(max(0, len(open)-20))
	}
	verify(len(open))
}

// A large output that is a part of an input is passed as it is, unless the model has kept it.
func TestPartsOfInputsAreNotCopied(t *testing.T) {
	t.Parallel()
	h := newHarness(t, disposer)
	require.NoError(t, h.load())
	for _, c := range []struct {
		how    string
		copied int64
	}{
		{"untouched", 0},
		{"input", 0},
		{"half", 0},
		{"add", 0},
		{"", 0},
		{"reversed", 1 << 20},
		{"new", 1 << 20},
		{"keep", 1 << 20},
		{"keep part", 1 << 20},
	} {
		_, before := h.pool.Copied()
		in, _ := h.pool.Copied()
		r := h.request(tensor.Uint8, tensor.Shape{1 << 20}, make([]byte, 1<<20))
		r.ID = c.how
		r.Outputs = append(r.Outputs[:0], kserve.RequestedOutput{Name: "OUT"}, kserve.RequestedOutput{Name: "IN"})
		responses, err := h.run(r)
		require.NoError(t, err)
		require.NoError(t, responses[0].Err)
		after, out := h.pool.Copied()
		require.Equal(t, c.copied, out-before, c.how)
		require.EqualValues(t, 1<<20, after-in, c.how)
		responses[0].Release()
	}
}

// own puts the input of a request into memory that the child may have.
func (h *harness) own(r *infer.Request, data []byte) *tensor.Buffer {
	h.t.Helper()
	memory, err := h.backend.memory()
	require.NoError(h.t, err)
	b, err := memory.pool.TryGet(len(data))
	require.NoError(h.t, err)
	copy(b.Bytes(), data)
	in := &r.Inputs[0]
	in.Data.Release()
	in.Data, r.OwnInputs = tensor.NewData(b), true
	return b
}

// An input that was received into the memory of the model, and that nothing else reads, is not copied.
func TestOwnInputsAreNotCopied(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	in := bytes.Repeat([]byte{1, 2, 3, 4}, size/4)
	for name, c := range map[string]struct {
		change func(t *testing.T, r *infer.Request, b *tensor.Buffer) // nil: none
		copied int64
	}{
		"own":                 {copied: 0},
		"not marked as own":   {func(_ *testing.T, r *infer.Request, _ *tensor.Buffer) { r.OwnInputs = false }, size},
		"may run again":       {func(_ *testing.T, r *infer.Request, _ *tensor.Buffer) { r.AllowReschedule() }, size},
		"others refer to it":  {func(t *testing.T, _ *infer.Request, b *tensor.Buffer) { t.Cleanup(b.Retain().Release) }, size},
		"a part of a buffer":  {func(_ *testing.T, r *infer.Request, b *tensor.Buffer) { part(r, b, 64, size-64) }, size - 64},
		"with a second input": {func(_ *testing.T, r *infer.Request, _ *tensor.Buffer) { second(r) }, size + 4},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, disposer)
			require.NoError(t, h.load())
			r := h.request(tensor.Uint8, tensor.Shape{size}, nil)
			b := h.own(r, in)
			if c.change != nil {
				c.change(t, r, b)
			}
			want := expected("add", bytesOf(&r.Inputs[0].Data))
			r.ID = "add"
			before, _ := h.pool.Copied()
			responses, err := h.run(r)
			require.NoError(t, err)
			require.NoError(t, responses[0].Err)
			r.ReleaseInputs()
			after, _ := h.pool.Copied()
			require.Equal(t, c.copied, after-before)
			require.True(t, bytes.Equal(want, bytesOf(&responses[0].Outputs[0].Data)))
			if name == "others refer to it" {
				require.True(t, bytes.Equal(in, b.Bytes()), "the model has written to what others read")
			}
			responses[0].Release()
		})
	}
}

// part makes n bytes of a buffer the input.
func part(r *infer.Request, b *tensor.Buffer, off, n int) {
	in := &r.Inputs[0]
	b.Retain()
	in.Data.Release()
	in.Data, in.Shape = tensor.SliceData(b, off, n), tensor.Shape{int64(n)}
	b.Release()
}

func second(r *infer.Request) {
	in := r.AddInput()
	in.Name, in.DataType, in.Data = "IN2", tensor.Uint8, tensor.NewData(tensor.HeapBuffer(make([]byte, 4)))
	in.Shape = append(in.Shape[:0], 4)
}

// The child may die while responses refer to the memory of its inputs.
func TestResponsesOutliveTheChild(t *testing.T) {
	t.Parallel()
	h := newHarness(t, disposer)
	require.NoError(t, h.load())
	in := floats(1 << 18)
	responses, err := h.run(h.request(tensor.Uint8, tensor.Shape{int64(len(in))}, bytes.Clone(in)))
	require.NoError(t, err)
	h.instance.(*instance).child.process.Kill()
	h.instance.(*instance).child.process.Exit()
	require.Equal(t, in, bytesOf(&responses[0].Outputs[0].Data))
	responses[0].Release()
}

// A request that the model neither answers nor asks a response sender of is ended, and one
// that is already answered has a closed sender.
func TestRequestsWithoutSender(t *testing.T) {
	t.Parallel()
	h := newHarness(t, `
class TritonPythonModel:
    last = None
    def execute(self, requests):
        request, = requests
        if request.request_id() == "nothing":
            return [None]
        if request.request_id() == "late":
            sender = self.last.get_response_sender()
            try:
                sender.send(pb_utils.InferenceResponse())
            except pb_utils.TritonModelException as e:
                return [pb_utils.InferenceResponse(error=pb_utils.TritonError(f"{e} {self.last.is_cancelled()}"))]
        self.last = request
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([5], np.uint8))])]
`)
	require.NoError(t, h.load())
	for _, c := range []struct{ id, want string }{
		{"nothing", "the model 'm_0' released the request and did not respond to it final"},
		{"answered", "5 final"},
		{"late", "Unable to send response. Non-decoupled model cannot send more than one response. False final"},
	} {
		a := h.lend(c.id)
		require.NoError(t, h.batch(a))
		require.Equal(t, []string{c.want}, a.responses(1))
		a.end()
	}
}
