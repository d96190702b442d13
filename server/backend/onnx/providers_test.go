//go:build cgo && (linux || darwin)

package onnx

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig/requirement"
	"triton/pkg/onnxmodel"
	"triton/pkg/sharedtest"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// with adds fields to the configuration of a model.
func with(t testing.TB, spec backend.Spec, text string) backend.Spec {
	t.Helper()
	more := &inferencepb.ModelConfig{}
	require.NoError(t, prototext.Unmarshal([]byte(text), more))
	proto.Merge(spec.Config, more)
	return spec
}

const gpuGroup = ` instance_group { kind: KIND_GPU } `

// onGPU loads the model with an instance on GPU 2, runs it and returns the error.
func onGPU(t *testing.T, spec backend.Spec) error {
	t.Helper()
	return onDevice(t, spec, 2)
}

// TestRealCUDA runs a model on the first GPU of this machine.
func TestRealCUDA(t *testing.T) {
	t.Parallel()
	if !engineUnderTest(t).HasGPU() {
		t.Skip("the library has no GPU provider")
	}
	require.NoError(t, onDevice(t, with(t, specOf(t, simple(), 8), gpuGroup), 0))
}

func onDevice(t *testing.T, spec backend.Spec, device int) error {
	t.Helper()
	m, err := engineUnderTest(t).Load(context.Background(), spec)
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, m.Close()) }()
	i, err := m.NewInstance(context.Background(), backend.Placement{Name: "m_0_0", Kind: inferencepb.ModelInstanceGroup_KIND_GPU, Device: device, Instances: 1})
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, i.Close()) }()
	w := &world{TB: t, spec: spec, model: m, inst: i.(*instance)}
	out, err := w.infer(w.inst, simpleRequest(w, 2, 4))
	if err == nil {
		require.Equal(t, ramp(2, 9, 4), bytesOf(t, out[0], "OUTPUT0"))
		out[0].Release()
	}
	return err
}

// TestGPUProviders checks everything up to the call of the providers of NVIDIA, and their order.
func TestGPUProviders(t *testing.T) {
	t.Parallel()
	accelerators := func(text string) string {
		return gpuGroup + ` optimization { execution_accelerators { ` + text + ` } } `
	}
	for _, c := range []struct{ name, config, record, err string }{
		{"no accelerator", gpuGroup, "cuda device_id=2\nappend cuda\n", ""},
		{
			"parameters of the older form", gpuGroup + param("gpu_mem_limit", "100") + param("arena_extend_strategy", "1"),
			"cuda arena_extend_strategy=kSameAsRequested device_id=2 gpu_mem_limit=100\nappend cuda\n", "",
		},
		{
			"cuda", accelerators(`gpu_execution_accelerator { name: "cuda" parameters { key: "gpu_mem_limit" value: "200" } parameters { key: "use_tf32" value: "0" } }`),
			"cuda device_id=2 gpu_mem_limit=200 use_tf32=0\nappend cuda\n", "",
		},
		{
			"tensorrt without parameters", accelerators(`gpu_execution_accelerator { name: "tensorrt" }`),
			"tensorrt device_id=2\nappend tensorrt\ncuda device_id=2\nappend cuda\n", "",
		},
		{
			"cuda before tensorrt", accelerators(`gpu_execution_accelerator { name: "cuda" parameters { key: "prefer_nhwc" value: "1" } }
				gpu_execution_accelerator { name: "tensorrt" parameters { key: "precision_mode" value: "FP16" } parameters { key: "max_workspace_size_bytes" value: "4294967296" } }`),
			"tensorrt device_id=2 trt_fp16_enable=1 trt_max_workspace_size=4294967296\nappend tensorrt\ncuda device_id=2 prefer_nhwc=1\nappend cuda\n", "",
		},
		{
			"a CUDA graph is not replayed", accelerators(`gpu_execution_accelerator { name: "cuda" parameters { key: "enable_cuda_graph" value: "1" } }`),
			"cuda device_id=2 enable_cuda_graph=1\nappend cuda\nrun gpu_graph_id=-1\n", "",
		},
		{
			"a CUDA graph of TensorRT is not replayed", accelerators(`gpu_execution_accelerator { name: "tensorrt" parameters { key: "trt_cuda_graph_enable" value: "on" } }`),
			"tensorrt device_id=2 trt_cuda_graph_enable=1\nappend tensorrt\ncuda device_id=2\nappend cuda\nrun gpu_graph_id=-1\n", "",
		},
		{
			"an option that the provider refuses", accelerators(`gpu_execution_accelerator { name: "cuda" parameters { key: "no_such_option" value: "1" } }`),
			"cuda device_id=2 no_such_option=1\n", `onnx runtime error 2: Unknown provider option: "no_such_option".`,
		},
		{
			"a parameter that Triton refuses", accelerators(`gpu_execution_accelerator { name: "tensorrt" parameters { key: "fp16" value: "1" } }`),
			"", "unknown parameter 'fp16' is provided for TensorRT Execution Accelerator",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			record := withGPULibrary(t, func(path string) {
				err := onGPU(t, with(t, specOf(t, simple(), 8), c.config+param("onnxruntime_library", path)))
				if c.err == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, c.err)
				}
			})
			require.Equal(t, c.record, record)
		})
	}
}

// TestProvidersOfTwoLibraries: the providers of a second library would call into the first.
func TestProvidersOfTwoLibraries(t *testing.T) {
	t.Parallel()
	withGPULibrary(t, func(path string) {
		require.NoError(t, onGPU(t, with(t, specOf(t, simple(), 8), gpuGroup+param("onnxruntime_library", path))))
		other := newFakeLibrary(t, "24")
		err := onGPU(t, with(t, specOf(t, simple(), 8), gpuGroup+param("onnxruntime_library", other.path)))
		require.EqualError(t, err, "CUDAExecutionProvider of the ONNX Runtime library "+other.path+" cannot be used: the process uses execution providers of "+
			path+" already; run one of the models in a process of its own (parameter isolation: process)")
		require.Equal(t, status.Unavailable, status.CodeOf(err))
	})
}

// TestIgnoredParameters: what is wrong in the parameters of OpenVINO is logged and left out.
func TestIgnoredParameters(t *testing.T) {
	t.Parallel()
	var logged sharedtest.LogBuffer
	spec := with(t, specOf(t, simple(), 8), `optimization { execution_accelerators { cpu_execution_accelerator { name: "openvino" `+
		`parameters { key: "streams" value: "2" } parameters { key: "device_id" value: "0" } } } }`)
	spec.Log = slog.New(slog.NewTextHandler(&logged, nil))
	m, err := engineUnderTest(t).Load(t.Context(), spec)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	require.Contains(t, logged.String(), `level=WARN msg="model 'm': unknown parameter 'streams' is provided for OpenVINO Execution Accelerator: the server leaves it out"`)
	o, err := parseOptions(spec, false)
	require.NoError(t, err)
	require.Equal(t, []requirement.ProviderOption{{Key: "device_id", Value: "0"}, {Key: "device_type", Value: "CPU"}}, o.providers[0].Options)
}

func TestMissingProviders(t *testing.T) {
	t.Parallel()
	const openvino = `optimization { execution_accelerators { cpu_execution_accelerator { name: "openvino" } } }`
	b := engineUnderTest(t)
	err := loadError(t, with(t, specOf(t, simple(), 8), openvino), inferencepb.ModelInstanceGroup_KIND_CPU)
	require.ErrorContains(t, err, "unknown Execution Accelerator 'openvino' is requested: the ONNX Runtime library ")
	require.ErrorContains(t, err, "has no OpenVINOExecutionProvider (it has ")
	require.Equal(t, status.InvalidArg, status.CodeOf(err))

	lib, err := b.library(specOf(t, simple(), 8))
	require.NoError(t, err)
	withGPULibrary(t, func(path string) {
		missing := filepath.Join(filepath.Dir(path), providerFile("tensorrt"))
		require.NoError(t, os.Rename(missing, missing+".away"))
		defer func() { require.NoError(t, os.Rename(missing+".away", missing)) }()
		err := onGPU(t, with(t, specOf(t, simple(), 8), gpuGroup+param("onnxruntime_library", path)+
			`optimization { execution_accelerators { gpu_execution_accelerator { name: "tensorrt" } } }`))
		require.EqualError(t, err, "the library "+filepath.Base(missing)+" of the execution provider TensorrtExecutionProvider is missing: ONNX Runtime looks for it only in "+
			filepath.Dir(missing)+", beside "+filepath.Base(path))
	})
	require.NotContains(t, lib.providers, "OpenVINOExecutionProvider")
}

// TestOldLibrary runs models with a library whose function table ends at level 17.
func TestOldLibrary(t *testing.T) {
	t.Parallel()
	old := newFakeLibrary(t, "17")
	load17 := func(f *onnxmodel.File, batch int32) *world {
		return load(t, with(t, specOf(t, f, batch), param("onnxruntime_library", old.path)))
	}
	w := load17(simple(), 8)
	require.EqualValues(t, "1.17.0", w.model.(*model).library.version)
	out, err := w.infer(w.inst, simpleRequest(w, 2, 4))
	require.NoError(t, err)
	require.Equal(t, ramp(2, 9, 4), bytesOf(t, out[0], "OUTPUT0"))
	out[0].Release()
	for elem, value := range map[onnxmodel.ElemType][]byte{ // outputs that ONNX Runtime allocates
		onnxmodel.Float16: {1, 2, 3, 4}, onnxmodel.Int64: make([]byte, 16), onnxmodel.Bool: {1, 0}, onnxmodel.Double: make([]byte, 16),
		onnxmodel.BFloat16: {1, 2, 3, 4}, onnxmodel.Uint8: {3, 4}, onnxmodel.Int16: {1, 2, 3, 4}, onnxmodel.Uint32: make([]byte, 8),
		onnxmodel.String: tensor.AppendElementString(tensor.AppendElementString(nil, "a\x00b"), ""),
	} {
		w := load17(identity(elem, -1), 0)
		out, err := w.infer(w.inst, w.request(0, input{"x", elem.DataType(), tensor.Shape{2}, value}))
		require.NoError(t, err, elem)
		require.Equal(t, value, bytesOf(t, out[0], "y"), elem)
		require.Equal(t, tensor.Shape{2}, out[0].Output("y").Shape)
		out[0].Release()
	}
	require.NotPanics(t, func() { w.model.(backend.MemoryReporter).Memory() })
}
