package python

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

// exchanging is a model that evaluates an expression in the ID of a request. It counts what is
// exported through DLPack and not given back.
const exchanging = `
import ctypes, gc
from_dlpack = pb_utils.Tensor.from_dlpack
def t(x, dtype=np.float32): return pb_utils.Tensor("N", np.array(x, dtype))
def at(tensor): return tensor.as_numpy().ctypes.data
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([self.one(r)]) for r in requests]
    def one(self, r):
        v = eval(r.request_id(), globals(), {"self": self, "r": r, "x": r.inputs()[0]})
        if isinstance(v, pb_utils.Tensor): return v
        return pb_utils.Tensor("OUT", np.array([str(v)], dtype=object))
    def exported(self):
        gc.collect()
        return sum(type(x).__name__ == "_Slot" for x in gc.get_objects())
`

// exchange starts a model that has imported modules.
func exchange(t *testing.T, imports string, modules ...string) *harness {
	t.Helper()
	h := newHarness(t, imports+exchanging)
	h.spec.Settings["python-executable"] = withPackages(t, modules...)
	require.NoError(t, h.load())
	return h
}

// pass runs the input through an expression and compares its output.
func (h *harness) pass(expression string, kind tensor.DataType, data []byte) {
	h.t.Helper()
	r := h.request(kind, tensor.Shape{1, int64(len(data)) / 2}, data)
	r.ID = expression
	responses, err := h.run(r)
	require.NoError(h.t, err)
	require.NoError(h.t, responses[0].Err)
	out := &responses[0].Outputs[0]
	require.Equal(h.t, kind, out.DataType)
	require.Equal(h.t, tensor.Shape{1, int64(len(data)) / 2}, out.Shape)
	require.Equal(h.t, data, bytesOf(&out.Data))
	releaseAll(responses)
}

// TestTorch: tensors travel between the model and PyTorch without a copy, by the protocol and
// by capsules, and their memory is given back.
func TestTorch(t *testing.T) {
	t.Parallel()
	h := exchange(t, "import torch, torch.utils.dlpack\n", "torch")
	const types = "[torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64]"
	for _, c := range [][2]string{
		// Into the model.
		{"(lambda a: from_dlpack('A', a).as_numpy().ctypes.data == a.data_ptr())(torch.arange(6).reshape(2, 3))", "True"},
		{"(lambda a: from_dlpack('A', torch.utils.dlpack.to_dlpack(a)).as_numpy().ctypes.data == a.data_ptr())(torch.ones(3))", "True"},
		{"(lambda a: from_dlpack('A', a[1:]).as_numpy().ctypes.data == a.data_ptr() + 8)(torch.arange(4))", "True"},
		{"[from_dlpack('A', torch.ones(2, dtype=d)).as_numpy().tolist() for d in " + types + "]", "[[True, True], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]"},
		{"from_dlpack('A', torch.zeros(0, 3)).shape(), from_dlpack('A', torch.tensor(5)).shape()", "([0, 3], [])"},
		// Out of it.
		{"torch.from_dlpack(x).data_ptr() == torch.from_dlpack(x.to_dlpack()).data_ptr() == torch.utils.dlpack.from_dlpack(x.to_dlpack()).data_ptr() == at(x)", "True"},
		{"(lambda a: torch.from_dlpack(a).data_ptr() == at(a))(t([1, 2]))", "True"},
		{"[torch.from_dlpack(t([1, 0], d)).tolist() for d in ('?', 'B', 'b', 'h', 'i', 'l', 'e', 'f', 'd')]", "[[True, False], [1, 0], [1, 0], [1, 0], [1, 0], [1, 0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]"},
		{"torch.from_dlpack(t(np.zeros((2, 0)))).shape", "torch.Size([2, 0])"},
		{"torch.from_dlpack(from_dlpack('A', torch.tensor([1.5, -2], dtype=torch.bfloat16))).tolist()", "[1.5, -2.0]"},
		// Through it: what PyTorch writes is in the tensor.
		{"(lambda a: (torch.from_dlpack(a).add_(1), a.as_numpy().tolist())[1])(t([1, 2]))", "[2.0, 3.0]"},
		{"self.exported()", "0"},
	} {
		require.Equal(t, c[1], h.eval(c[0]), c[0])
	}
	for range 3 {
		h.pass("from_dlpack('OUT', torch.from_dlpack(x))", tensor.FP16, []byte{0, 60, 0, 64, 0, 66})
		h.pass("from_dlpack('OUT', torch.from_dlpack(x).clone())", tensor.BF16, []byte{1, 63, 2, 64, 3, 65})
	}
	for _, c := range [][2]string{
		{"from_dlpack('A', torch.ones(3, 4).t())", "DLPack tensor is not contiguous."},
		{"from_dlpack('A', torch.ones(3, requires_grad=True))", "Can't export tensors that require gradient"},
		{"from_dlpack('A', torch.ones(3, dtype=torch.complex64))", `DType code "5" is not supported.`},
		{"from_dlpack('A', torch.ones(3, device='meta'))", ""},
		{"torch.from_dlpack(t([b'a'], object))", "DLPack does not have support for string tensors."},
	} {
		r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
		r.ID = c[0]
		_, err := h.run(r)
		require.ErrorContains(t, err, c[1], c[0])
	}
	require.Equal(t, "0", h.eval("self.exported()"))
}

// TestJAX is TestTorch with the arrays of JAX, which are read-only.
func TestJAX(t *testing.T) {
	t.Parallel()
	h := exchange(t, "import jax\njax.config.update('jax_platforms', 'cpu')\nimport jax.numpy as jnp\n", "jax")
	for _, c := range [][2]string{
		{"(lambda a: from_dlpack('A', a).as_numpy().ctypes.data == a.unsafe_buffer_pointer())(jnp.arange(6).reshape(2, 3))", "True"},
		{"[from_dlpack('A', jnp.ones(2, d)).as_numpy().tolist() for d in ('uint8', 'int8', 'int16', 'int32', 'float16', 'float32')]", "[[1, 1], [1, 1], [1, 1], [1, 1], [1.0, 1.0], [1.0, 1.0]]"},
		{"jnp.from_dlpack(x).tolist(), jnp.from_dlpack(t([[1, 2]])).shape", "([0.0], (1, 2))"},
		{"jnp.from_dlpack(from_dlpack('A', jnp.array([1.5, -2], jnp.bfloat16))).tolist()", "[1.5, -2.0]"},
	} {
		require.Equal(t, c[1], h.eval(c[0]), c[0])
	}
	h.pass("from_dlpack('OUT', jnp.from_dlpack(x) * 1)", tensor.FP16, []byte{0, 60, 0, 64, 0, 66})
	h.pass("from_dlpack('OUT', jnp.from_dlpack(x))", tensor.BF16, []byte{1, 63, 2, 64, 3, 65})
	require.Equal(t, "0", h.eval("self.exported()"))
}

// TestDLPackArguments: a consumer may ask for a copy, and for the CPU.
func TestDLPackArguments(t *testing.T) {
	t.Parallel()
	h := newHarness(t, exchanging+`
def read(capsule): return from_dlpack("N", capsule)
`)
	require.NoError(t, h.load())
	for _, c := range [][2]string{
		{"(lambda a: at(read(a.__dlpack__(copy=True))) == at(a))(t([1]))", "False"},
		{"(lambda a: at(read(a.__dlpack__(None, max_version=(1, 0), dl_device=(1, 0), copy=False))) == at(a))(t([1]))", "True"},
		{"read(t([[1, 2]]).__dlpack__(copy=True)).as_numpy().tolist()", "[[1.0, 2.0]]"},
		{"self.exported()", "0"},
	} {
		require.Equal(t, c[1], h.eval(c[0]), c[0])
	}
	h.pass("from_dlpack('OUT', x.__dlpack__(copy=True))", tensor.BF16, []byte{1, 63, 2, 64})
	r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
	r.ID = "x.__dlpack__(dl_device=(2, 0))"
	_, err := h.run(r)
	require.ErrorContains(t, err, "BufferError: the tensor is in the memory of the CPU and is not copied to the device (2, 0)")
}
