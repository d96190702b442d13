package main

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/log"
	"triton/server/capi/capitest"
	"triton/server/capi/inprocess"
	"triton/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const repeatModel = `backend: "repeat"
model_transaction_policy { decoupled: true }
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }
input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }
`

const labeled = `backend: "identity"
max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] label_filename: "labels.txt" }
dynamic_batching { priority_levels: 5 default_priority_level: 2 }
`

// writeModels writes the models of server.c.
func writeModels(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "models")
	identity := servertest.Identity("INT32", "4", 8)
	for name, config := range map[string]string{
		"numbers": labeled, "extra": identity, "repeat": repeatModel,
		"slow": identity + `parameters { key: "execute_delay_ms" value { string_value: "300" } }`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "numbers", "labels.txt"), []byte("first\nsecond\nthird\nfourth\n"), 0o600))
	return dir
}

// TestServer runs the functions that need a server, from C, in the process of the test.
func TestServer(t *testing.T) {
	dir := writeModels(t)
	capitest.Run(t, include, "../../server/capi/testdata/server.c", dir)
	text, err := os.ReadFile(filepath.Join(dir, "..", "log"))
	require.NoError(t, err)
	require.Contains(t, string(text), "Waiting for in-flight requests to complete.")
}

const include = "../../server/capi/include"

// functions returns the names of all functions in the description of the API: libraries that the
// server opens find those of their own part too.
func functions(t *testing.T) []string {
	t.Helper()
	file, err := os.Open("../../server/capi/api.txt")
	require.NoError(t, err)
	defer file.Close()
	headers, err := capitest.Parse(file)
	require.NoError(t, err)
	var names []string
	for _, h := range headers {
		for _, item := range h.Items {
			if item.Kind == capitest.Func {
				names = append(names, item.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// exports returns the dynamic symbols that a file defines.
func exports(t *testing.T, path string) []string {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	require.NoError(t, err)
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestExports looks for the functions of the API in the program of the test, where libraries that
// the server opens find them.
func TestExports(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	require.NoError(t, err)
	names := exports(t, path)
	require.Subset(t, names, functions(t))
	for _, name := range names {
		require.False(t, strings.HasPrefix(name, "capi"), "%s is visible to other libraries", name)
	}
}

// build compiles and links server.c as a program.
func build(t *testing.T, library string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "server")
	args := []string{
		"-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-DPROGRAM", "-I", include, "-o", program,
		"../../server/capi/testdata/server.c", library, "-Wl,-rpath," + filepath.Dir(library), "-lpthread",
	}
	out, err := exec.CommandContext(t.Context(), "cc", append(args, flags...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// libraryOf returns the library that `make libtritonserver` has built.
func libraryOf(t *testing.T) string {
	t.Helper()
	path := os.Getenv("TRITON_LIBTRITONSERVER") //nolint:forbidigo // make names the library
	if path == "" {
		t.Skip("`make libtritonserver` and `make capi-asan` build the library and run this test")
	}
	return path
}

// TestLibrary links a program with the library.
func TestLibrary(t *testing.T) {
	t.Parallel()
	path := libraryOf(t)
	require.Equal(t, functions(t), exports(t, path), "nothing else may be visible")
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	name, err := file.DynString(elf.DT_SONAME)
	require.NoError(t, err)
	require.Equal(t, []string{"libtritonserver.so"}, name)
	runProgram(t, build(t, path))
}

// TestSanitizer runs the program with an address sanitizer. It watches all memory that the C code
// of the library and of the program allocates: what is freed twice, or by no one, and what the
// program uses wrongly.
func TestSanitizer(t *testing.T) {
	t.Parallel()
	runProgram(t, build(t, libraryOf(t), "-fsanitize=address"))
}

func runProgram(t *testing.T, program string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, writeModels(t)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "all functions work")
}

// TestMissingLibrary: a model whose backend's library is missing fails the start, as any model that
// cannot be loaded; `triton serve` serves the others.
func TestMissingLibrary(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "m", "1"), 0o755))
	config := `backend: "onnxruntime" input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "config.pbtxt"), []byte(config), 0o600))
	t.Chdir(dir) // where no library is
	sink, err := log.Open(log.DefaultSettings(), io.Discard, io.Discard)
	require.NoError(t, err)
	l := &library{getenv: func(string) string { return "" }, sink: sink, log: sink.Logger()}
	_, err = l.start([]inprocess.Setting{{Name: "model-repository", Text: [3]string{dir}}})
	require.EqualError(t, err, "failed to load all models")
}
