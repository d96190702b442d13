package python

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

// device stands for packages whose tensors are on a GPU. Their memory is in fact that of the
// CPU, and nothing but the copy that the package makes may read it.
const device = `
import ctypes, sys, types
import _triton_dlpack as dl

class OnDevice:
    def __init__(self, x): self.x = x
    def __dlpack_device__(self): return (2, 1)
    def __dlpack__(self, stream=None):
        capsule = self.x.__dlpack__()
        dl._tensor(capsule).dl_tensor.device_type = 2
        return capsule

class OfTorch(OnDevice):
    def cpu(self): return self.x

class OfCupy(OnDevice):
    def get(self): return self.x

class OfStandard(OnDevice):
    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        return self.x.__dlpack__() if dl_device == (1, 0) else super().__dlpack__()

def taken(capsule):
    """What a package makes of a capsule: its tensor."""
    t = dl._tensor(capsule).dl_tensor
    t.device_type = 1
    class Source:
        def __dlpack_device__(self): return (1, 0)
        def __dlpack__(self, **_): return capsule
    return OfTorch(np.from_dlpack(Source()) + 1)

def package(name):
    m = types.ModuleType(name)
    if name == "torch": m.utils = types.SimpleNamespace(dlpack=types.SimpleNamespace(from_dlpack=taken))
    if name == "cupy": m.fromDlpack = lambda c: OfCupy(taken(c).x)
    if name == "tensorflow":
        m.experimental = types.SimpleNamespace(dlpack=types.SimpleNamespace(from_dlpack=lambda c: types.SimpleNamespace(numpy=lambda: taken(c).x)))
    return m

def imported(name, make):
    """Runs make while a package of that name is imported."""
    hidden = {n: sys.modules.pop(n) for n in ("torch", "cupy", "tensorflow") if n in sys.modules}
    if name: sys.modules[name] = package(name)
    try: return make()
    finally:
        sys.modules.pop(name, None)
        sys.modules.update(hidden)

class TritonPythonModel:
    def execute(self, requests):
        global request
        request, = requests
        made = eval(request.request_id(), globals())
        return [pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("OUT", made)])]
`

// Tensors on a GPU are copied to the memory of the CPU by their package, and capsules over such
// memory by a package that is imported. There is no GPU here: the packages are stand-ins.
func TestTensorsOnAGPU(t *testing.T) {
	t.Parallel()
	h := newHarness(t, device)
	h.parameters("FORCE_CPU_ONLY_INPUT_TENSORS", "no")
	require.NoError(t, h.load())
	ask := func(kind tensor.DataType, expression string) ([]byte, tensor.DataType, error) {
		r := h.request(kind, tensor.Shape{2}, []byte{1, 2, 3, 4})
		r.ID = expression
		responses, err := h.run(r)
		if err != nil {
			return nil, 0, err
		}
		defer releaseAll(responses)
		out := &responses[0].Outputs[0]
		return bytesOf(&out.Data), out.DataType, nil
	}
	small := "np.array([1, 2], np.uint8)"
	for expression, want := range map[string][]byte{
		"OfTorch(" + small + ")":                          {1, 2},
		"OfCupy(" + small + ")":                           {1, 2},
		"OfStandard(" + small + ")":                       {1, 2},
		"OfTorch(np.arange(5000, dtype=np.uint8)[4998:])": {134, 135},
		"imported('torch', lambda: pb_utils.Tensor.from_dlpack('N', OnDevice(" + small + ").__dlpack__()))":      {2, 3},
		"imported('cupy', lambda: pb_utils.Tensor.from_dlpack('N', OnDevice(" + small + ").__dlpack__()))":       {2, 3},
		"imported('tensorflow', lambda: pb_utils.Tensor.from_dlpack('N', OnDevice(" + small + ").__dlpack__()))": {2, 3},
	} {
		data, _, err := ask(tensor.Uint16, expression)
		require.NoError(t, err, expression)
		require.Equal(t, want, data, expression)
	}
	data, kind, err := ask(tensor.BF16, "OfTorch(request.inputs()[0])")
	require.NoError(t, err)
	require.Equal(t, tensor.BF16, kind)
	require.Equal(t, []byte{1, 2, 3, 4}, data)

	for _, expression := range []string{
		"OnDevice(" + small + ")",
		"imported('', lambda: pb_utils.Tensor.from_dlpack('N', OnDevice(" + small + ").__dlpack__()))",
	} {
		_, _, err := ask(tensor.Uint16, expression)
		require.ErrorContains(t, err, "when GPU is not available: pass a tensor that can copy itself to the CPU, as those of torch and cupy can")
	}
}
