//go:build cgo && (linux || darwin)

package onnx

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// headers returns the folder of ONNX Runtime's published headers, which the binding's module carries.
func headers(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yalue/onnxruntime_go").Output()
	dir := strings.TrimSpace(string(out))
	if _, statErr := os.Stat(filepath.Join(dir, "onnxruntime_c_api.h")); err != nil || statErr != nil {
		t.Skip("needs the module github.com/yalue/onnxruntime_go in the module cache for its header")
	}
	return dir
}

// compile makes a shared library from C source.
func compile(t testing.TB, lib, source string, flags ...string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a C compiler named cc")
	}
	file := strings.TrimSuffix(lib, ".so") + ".c"
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	args := append([]string{"-shared", "-fPIC", "-w", "-I", headers(t), "-o", lib, file, "-ldl"}, flags...)
	out, err := exec.Command(compiler, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// fakes returns the folder of the fake libraries, which TestMain removes.
var fakes = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "fake-onnxruntime-")
	if err != nil {
		panic(err)
	}
	return dir
})

// fakeLibrary is an ONNX Runtime that claims to have the providers of NVIDIA, and writes what it is
// told about them to a file. It runs models with the real library, on the CPU.
type fakeLibrary struct{ path, record string }

// newFakeLibrary makes a fake library in a folder of its own. level is the newest level of the
// function table that it has; functions that came after level 17 are missing from that table.
func newFakeLibrary(t testing.TB, level string) *fakeLibrary {
	t.Helper()
	engineUnderTest(t)
	real, err := Find(Search{Getenv: os.Getenv, Directory: filepath.Join("..", "..", "..")})
	require.NoError(t, err)
	real, err = filepath.Abs(real)
	require.NoError(t, err)
	dir, err := os.MkdirTemp(fakes(), "") //nolint:usetesting // the process keeps the library beyond the test
	require.NoError(t, err)
	f := &fakeLibrary{filepath.Join(dir, "libonnxruntime.so"), filepath.Join(dir, "record")}
	compile(t, f.path, fakeSource, `-DREAL="`+real+`"`, `-DRECORD="`+f.record+`"`, "-DLEVEL="+level)
	for _, provider := range []string{"cuda", "tensorrt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, providerFile(provider)), nil, 0o600))
	}
	return f
}

// gpuLibrary is the one fake library with providers that this process may use.
var gpuLibrary struct {
	sync.Mutex
	*fakeLibrary
}

// withGPULibrary calls do with the fake library, which no other test uses meanwhile, and returns what
// the library recorded.
func withGPULibrary(t *testing.T, do func(path string)) string {
	t.Helper()
	gpuLibrary.Lock()
	defer gpuLibrary.Unlock()
	if gpuLibrary.fakeLibrary == nil {
		gpuLibrary.fakeLibrary = newFakeLibrary(t, "24")
	}
	require.NoError(t, os.WriteFile(gpuLibrary.record, nil, 0o600))
	do(gpuLibrary.path)
	text, err := os.ReadFile(gpuLibrary.record)
	require.NoError(t, err)
	return string(text)
}

const fakeSource = `
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "onnxruntime_c_api.h"

enum { LAST_OF_17 = offsetof(OrtApi, SessionOptionsAppendExecutionProvider_OpenVINO_V2) };

static const OrtApiBase *real;
static OrtApi api;

static void note(const char *what, const char *const *keys, const char *const *values, size_t n) {
	FILE *f = fopen(RECORD, "a");
	fprintf(f, "%s", what);
	for (size_t i = 0; i < n; i++) fprintf(f, " %s=%s", keys[i], values[i]);
	fprintf(f, "\n");
	fclose(f);
}

static OrtStatus *refuse(const char *const *keys, size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (strcmp(keys[i], "no_such_option") == 0) return api.CreateStatus(ORT_INVALID_ARGUMENT, "Unknown provider option: \"no_such_option\".");
	}
	return NULL;
}

static OrtStatus *new_cuda(OrtCUDAProviderOptionsV2 **o) { *o = malloc(1); return NULL; }
static void free_cuda(OrtCUDAProviderOptionsV2 *o) { free(o); }
static OrtStatus *set_cuda(OrtCUDAProviderOptionsV2 *o, const char *const *k, const char *const *v, size_t n) { note("cuda", k, v, n); return refuse(k, n); }
static OrtStatus *add_cuda(OrtSessionOptions *s, const OrtCUDAProviderOptionsV2 *o) { note("append cuda", 0, 0, 0); return NULL; }
static OrtStatus *new_trt(OrtTensorRTProviderOptionsV2 **o) { *o = malloc(1); return NULL; }
static void free_trt(OrtTensorRTProviderOptionsV2 *o) { free(o); }
static OrtStatus *set_trt(OrtTensorRTProviderOptionsV2 *o, const char *const *k, const char *const *v, size_t n) { note("tensorrt", k, v, n); return refuse(k, n); }
static OrtStatus *add_trt(OrtSessionOptions *s, const OrtTensorRTProviderOptionsV2 *o) { note("append tensorrt", 0, 0, 0); return NULL; }
static OrtStatus *add_entry(OrtRunOptions *o, const char *k, const char *v) { note("run", &k, &v, 1); return ((const OrtApi *)real->GetApi(LEVEL))->AddRunConfigEntry(o, k, v); }

static OrtStatus *providers(char ***names, int *n) {
	static char *list[] = {"TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"};
	*names = list;
	*n = 3;
	return NULL;
}
static OrtStatus *free_providers(char **names, int n) { return NULL; }

static const OrtApi *get(uint32_t version) {
	if (version > LEVEL) return NULL;
	memcpy(&api, real->GetApi(version), LEVEL < 24 ? LAST_OF_17 + sizeof(void *) : sizeof api);
	api.CreateCUDAProviderOptions = new_cuda;
	api.UpdateCUDAProviderOptions = set_cuda;
	api.ReleaseCUDAProviderOptions = free_cuda;
	api.SessionOptionsAppendExecutionProvider_CUDA_V2 = add_cuda;
	api.CreateTensorRTProviderOptions = new_trt;
	api.UpdateTensorRTProviderOptions = set_trt;
	api.ReleaseTensorRTProviderOptions = free_trt;
	api.SessionOptionsAppendExecutionProvider_TensorRT_V2 = add_trt;
	api.GetAvailableProviders = providers;
	api.ReleaseAvailableProviders = free_providers;
	api.AddRunConfigEntry = add_entry;
	return &api;
}

#define TEXT(x) #x
#define VERSION(x) "1." TEXT(x) ".0"
static const char *version(void) { return VERSION(LEVEL); }

static OrtApiBase base = {get, version};

const OrtApiBase *OrtGetApiBase(void) {
	const OrtApiBase *(*of)(void);
	*(void **)&of = dlsym(dlopen(REAL, RTLD_NOW | RTLD_LOCAL), "OrtGetApiBase");
	real = of();
	return &base;
}
`
