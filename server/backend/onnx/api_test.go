//go:build cgo && (linux || darwin)

package onnx

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable has the C compiler compare every line of api.h with the header that
// the binding's module carries: the place of the function in the table and its
// whole type.
func TestTable(t *testing.T) {
	t.Parallel()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a C compiler named cc")
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yalue/onnxruntime_go").Output()
	dir := strings.TrimSpace(string(out))
	if _, statErr := os.Stat(filepath.Join(dir, "onnxruntime_c_api.h")); err != nil || statErr != nil {
		t.Skip("needs the module github.com/yalue/onnxruntime_go in the module cache for its header")
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	check := func(extra string) (string, error) {
		file := filepath.Join(t.TempDir(), "check.c")
		require.NoError(t, os.WriteFile(file, []byte(tableCheck+extra), 0o600))
		out, err := exec.Command(compiler, "-std=gnu11", "-fsyntax-only", "-I", dir, "-I", here, file).CombinedOutput()
		return string(out), err
	}
	text, err := check("")
	require.NoError(t, err, "%s", text)

	// The check itself must be able to fail.
	_, err = check(`_Static_assert(offsetof(OrtApi, Run) / sizeof(void *) == trt_ort_at_Run + 1, "");`)
	require.Error(t, err)
	_, err = check(`_Static_assert(__builtin_types_compatible_p(__typeof__(((OrtApi *)0)->Run), trt_ort_fn_ReleaseValue), "");`)
	require.Error(t, err)
}

const tableCheck = `
#include "onnxruntime_c_api.h"
#include "api.h"
_Static_assert(ORT_API_VERSION >= TRT_ORT_API_VERSION, "the header is older than what api.h asks for");
#define CHECK(place, result, name, parameters)                                                        \
	_Static_assert(offsetof(OrtApi, name) / sizeof(void *) == trt_ort_at_##name, "place of " #name); \
	_Static_assert(__builtin_types_compatible_p(__typeof__(((OrtApi *)0)->name), trt_ort_fn_##name), "type of " #name);
TRT_ORT_FUNCTIONS(CHECK)
`
