//go:build cgo && (linux || darwin)

package onnx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
)

// twice is a model of one node of the test's own operator.
func twice() *onnxmodel.File {
	f := identity(onnxmodel.Float, "n")
	f.Opsets = []onnxmodel.Opset{{Version: 17}, {Domain: "test.operators", Version: 1}}
	f.Nodes[0] = onnxmodel.Node{Op: "Twice", Domain: "test.operators", Inputs: []string{"x"}, Outputs: []string{"y"}}
	return f
}

// TestCustomOperators runs an operator that a C library defines. The library is named by its path, by
// its name in the version's folder, and by its name in the model's.
func TestCustomOperators(t *testing.T) {
	t.Parallel()
	lib := filepath.Join(t.TempDir(), "operators.so")
	compile(t, lib, operatorSource)
	text, err := os.ReadFile(lib)
	require.NoError(t, err)
	const kind = inferencepb.ModelInstanceGroup_KIND_CPU
	require.ErrorContains(t, loadError(t, specOf(t, twice(), 0), kind), "test.operators", "the operator is unknown without the library")

	for _, name := range []string{lib, "beside.so", "above.so"} {
		spec := with(t, specOf(t, twice(), 0), `model_operations { op_library_filename: "`+name+`" }`)
		switch name {
		case "beside.so":
			require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, name), text, 0o700))
		case "above.so":
			above := filepath.Join(spec.Dir, "..", name)
			require.NoError(t, os.WriteFile(above, text, 0o700))
		}
		w := load(t, spec)
		for range 3 {
			out, err := w.infer(w.inst, w.request(0, input{"x", tensor.FP32, tensor.Shape{3}, floats(1, -2, 3)}))
			require.NoError(t, err)
			require.Equal(t, floats(2, -4, 6), bytesOf(t, out[0], "y"))
			out[0].Release()
		}
	}

	spec := with(t, specOf(t, twice(), 0), `model_operations { op_library_filename: "missing.so" }`)
	require.ErrorContains(t, loadError(t, spec, kind), "missing.so")
	empty := filepath.Join(t.TempDir(), "empty.so")
	compile(t, empty, "int other;")
	spec = with(t, specOf(t, twice(), 0), `model_operations { op_library_filename: "`+empty+`" }`)
	require.ErrorContains(t, loadError(t, spec, kind), "RegisterCustomOps")
}

const operatorSource = `
#include "onnxruntime_c_api.h"

static const OrtApi *api;

static void *create(const OrtCustomOp *op, const OrtApi *a, const OrtKernelInfo *info) { return (void *)a; }
static void destroy(void *kernel) {}
static const char *name(const OrtCustomOp *op) { return "Twice"; }
static const char *provider(const OrtCustomOp *op) { return "CPUExecutionProvider"; }
static size_t one(const OrtCustomOp *op) { return 1; }
static ONNXTensorElementDataType type(const OrtCustomOp *op, size_t i) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
static OrtCustomOpInputOutputCharacteristic required(const OrtCustomOp *op, size_t i) { return INPUT_OUTPUT_REQUIRED; }
static OrtMemType memory(const OrtCustomOp *op, size_t i) { return OrtMemTypeDefault; }
static int arity(const OrtCustomOp *op) { return 1; }
static int homogeneous(const OrtCustomOp *op) { return 1; }
static int version(const OrtCustomOp *op) { return 1; }

static void compute(void *kernel, OrtKernelContext *context) {
	const OrtValue *in;
	OrtValue *out;
	OrtTensorTypeAndShapeInfo *info;
	int64_t n;
	float *x, *y;
	api->KernelContext_GetInput(context, 0, &in);
	api->GetTensorTypeAndShape(in, &info);
	api->GetDimensions(info, &n, 1);
	api->ReleaseTensorTypeAndShapeInfo(info);
	api->KernelContext_GetOutput(context, 0, &n, 1, &out);
	api->GetTensorMutableData((OrtValue *)in, (void **)&x);
	api->GetTensorMutableData(out, (void **)&y);
	for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];
}

static OrtCustomOp twice = {
	.version = 17, .CreateKernel = create, .GetName = name, .GetExecutionProviderType = provider,
	.GetInputType = type, .GetInputTypeCount = one, .GetOutputType = type, .GetOutputTypeCount = one,
	.KernelCompute = compute, .KernelDestroy = destroy,
	.GetInputCharacteristic = required, .GetOutputCharacteristic = required, .GetInputMemoryType = memory,
	.GetVariadicInputMinArity = arity, .GetVariadicInputHomogeneity = homogeneous,
	.GetVariadicOutputMinArity = arity, .GetVariadicOutputHomogeneity = homogeneous,
	.GetStartVersion = version, .GetEndVersion = version,
};

static OrtCustomOpDomain *domain; // of all loads, until the library is closed

__attribute__((destructor)) static void end(void) {
	if (domain != NULL) api->ReleaseCustomOpDomain(domain);
}

OrtStatus *RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base) {
	api = base->GetApi(17); // for all libraries that the server takes
	OrtStatus *s = NULL;
	if (domain == NULL) {
		s = api->CreateCustomOpDomain("test.operators", &domain);
		if (s == NULL) s = api->CustomOpDomain_Add(domain, &twice);
	}
	if (s == NULL) s = api->AddCustomOpDomain(options, domain);
	return s;
}
`
