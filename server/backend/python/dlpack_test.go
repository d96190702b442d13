package python

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

const packing = `
import ctypes, gc
T = pb_utils
def t(x, name="N"): return pb_utils.Tensor(name, np.array(x, np.float32))
class Fake:
    def __init__(self, device, x=None): self.device, self.x = device, x
    def __dlpack_device__(self): return (self.device, 0)
    def __dlpack__(self, stream=None): return self.x.__dlpack__()
class TritonPythonModel:
    def execute(self, requests):
        return [self.one(r) for r in requests]
    def one(self, r):
        if r.request_id() == "pass":
            x = pb_utils.Tensor.from_dlpack("OUT", r.inputs()[0])
            return pb_utils.InferenceResponse([x])
        v = eval(r.request_id(), globals(), {"self": self, "r": r})
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([str(v)], dtype=object))])
    def shared(self):
        a = np.arange(3)
        x = pb_utils.Tensor.from_dlpack("N", a)
        a[0] = 7
        return x.as_numpy().tolist(), x.as_numpy().ctypes.data == a.ctypes.data
    def kept(self, r):
        x = np.from_dlpack(r.inputs()[0])
        y = pb_utils.Tensor.from_dlpack("N", r.inputs()[0].to_dlpack()).as_numpy()
        return x.ctypes.data == y.ctypes.data == r.inputs()[0].as_numpy().ctypes.data
    def freed(self):
        gc.collect()
        return sum(type(x).__name__ == "_Slot" for x in gc.get_objects())
    def references(self, x):
        import sys
        counts = [sys.getrefcount(x)]
        c = x.to_dlpack()
        counts.append(sys.getrefcount(x))
        del c
        return [n - counts[0] for n in counts + [sys.getrefcount(x)]]
    def ended(self):
        """Capsules that are not used, at the end of a call that fails."""
        for x in (t([1]), pb_utils.Tensor.from_dlpack("N", t([1]).to_dlpack())):
            try: print(x.to_dlpack(), 1 / 0)
            except ZeroDivisionError: continue
        return "the exception is not lost"
    def twice(self):
        c = t([1]).to_dlpack()
        pb_utils.Tensor.from_dlpack("N", c)
        return pb_utils.Tensor.from_dlpack("N", c)
`

// Tensors travel through DLPack without a copy, also those of BF16, and their memory is
// given back. A capsule keeps its tensor. The texts are those of NVIDIA's backend.
func TestDLPack(t *testing.T) {
	t.Parallel()
	h := newHarness(t, packing)
	require.NoError(t, h.load())
	for _, c := range [][2]string{
		{"self.shared()", "([7, 1, 2], True)"},
		{"self.kept(r)", "True"},
		{"(lambda x: (x.name(), x.shape(), x.is_cpu(), x.as_numpy().dtype))(T.Tensor.from_dlpack('A', np.zeros((2, 3), np.int16)))", "('A', [2, 3], True, dtype('int16'))"},
		{"[T.Tensor.from_dlpack('A', np.ones(2, d)).as_numpy().tolist() for d in 'BHILbhilefd']", "[[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]"},
		{"np.from_dlpack(t([[1, 2], [3, 4]])).tolist(), t(1).__dlpack_device__()", "([[1.0, 2.0], [3.0, 4.0]], (1, 0))"},
		{"T.Tensor.from_dlpack('N', np.zeros((0, 2), np.float32)).as_numpy().shape", "(0, 2)"},
		{"str(t([1]).to_dlpack())[:26]", `<capsule object "dltensor"`},
		{"self.references(t([1])), self.references(r.inputs()[0])", "([0, 1, 0], [0, 1, 0])"},
		{"self.ended()", "the exception is not lost"},
		{"self.freed()", "0"},
		{"t(np.ones((3, 4))[:, :1]).shape(), T.Tensor.from_dlpack('N', np.ones((3, 4))[:, :4]).shape()", "([3, 1], [3, 4])"},
	} {
		require.Equal(t, c[1], h.eval(c[0]), c[0])
	}
	for _, c := range [][2]string{
		{"T.Tensor.from_dlpack('N', 5)", "Provided tensor is not supported. Tensor must be a DLPack capsule         or have `__dlpack__` and `__dlpack_device__` attributes"},
		{"T.Tensor.from_dlpack('', np.arange(3))", "Tensor name cannot be an empty string."},
		{"T.Tensor.from_dlpack('N', np.arange(8).reshape(2, 4).T)", "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in C-Order are supported."},
		{"T.Tensor.from_dlpack('N', np.zeros(2, np.complex64))", `DType code "5" is not supported.`},
		{"T.Tensor.from_dlpack('N', Fake(8))", "DLDevice type 8 is not support by Python backend."},
		{"T.Tensor.from_dlpack('N', Fake(2))", "DLPack capsule passed pointer to memory allocated on GPU device,           when GPU is not available"},
		{"T.Tensor('N', np.array([b'a'])).to_dlpack()", "DLPack does not have support for string tensors."},
		{"self.twice()", "PyCapsule_GetPointer called with incorrect name"},
	} {
		r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
		r.ID = c[0]
		_, err := h.run(r)
		require.ErrorContains(t, err, c[1], c[0])
	}
	r := h.request(tensor.BF16, tensor.Shape{1}, []byte{1, 2})
	r.ID = "np.from_dlpack(r.inputs()[0])"
	_, err := h.run(r)
	require.ErrorContains(t, err, "Error: Unsupported dtype in DLTensor.") // numpy's
	for range 3 {                                                          // BF16 is read and written through DLPack only
		r := h.request(tensor.BF16, tensor.Shape{2, 1}, []byte{1, 2, 3, 4})
		r.ID = "pass"
		responses, err := h.run(r)
		require.NoError(t, err)
		out := &responses[0].Outputs[0]
		require.Equal(t, tensor.BF16, out.DataType)
		require.Equal(t, tensor.Shape{2, 1}, out.Shape)
		require.Equal(t, []byte{1, 2, 3, 4}, bytesOf(&out.Data))
		responses[0].Release()
	}
	require.Equal(t, "0", h.eval("self.freed()"))
	require.LessOrEqual(t, len(h.instance.(*instance).events.mu.blocks), 1)
}
