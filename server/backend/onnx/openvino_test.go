//go:build cgo && (linux || darwin)

package onnx

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
)

// openVINOLibrary names an ONNX Runtime with the OpenVINO provider, such as the one in the Python
// package onnxruntime-openvino.
const openVINOLibrary = "TRITON_TEST_ONNXRUNTIME_OPENVINO"

const openVINOChild = "TRITON_TEST_OPENVINO_CHILD"

// TestOpenVINO runs a model on the OpenVINO provider and another in the default library, side by
// side. Without the CPU provider as a fallback only OpenVINO can have run the first. It runs in a
// process of its own, because the providers of one library exclude those of others.
func TestOpenVINO(t *testing.T) {
	path := os.Getenv(openVINOLibrary)
	if path == "" {
		t.Skip("needs " + openVINOLibrary + ", the path of libonnxruntime.so of the Python package onnxruntime-openvino")
	}
	if os.Getenv(openVINOChild) == "" {
		t.Parallel()
		engineUnderTest(t)
		child := exec.Command(os.Args[0], "-test.run=^TestOpenVINO$", "-test.v")
		child.Env = append(os.Environ(), openVINOChild+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		t.Logf("%s", out)
		return
	}
	accelerated := func(parameters string) string {
		return param("onnxruntime_library", path) + param("session.disable_cpu_ep_fallback", "1") +
			`optimization { execution_accelerators { cpu_execution_accelerator { name: "openvino" ` + parameters + ` } } }`
	}
	option := func(key, value string) string {
		return fmt.Sprintf("parameters { key: %q value: %q } ", key, value)
	}
	plain := load(t, specOf(t, simple(), 8))
	for name, parameters := range map[string]string{
		"none": "", "streams": option("num_streams", "2") + option("num_of_threads", "2"), "cache": option("cache_dir", t.TempDir()),
		"dynamic": option("disable_dynamic_shapes", "off"),
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, with(t, specOf(t, simple(), 8), accelerated(parameters)))
			require.NotEqual(t, plain.model.(*model).library.path, w.model.(*model).library.path)
			for _, rows := range []int{1, 4, 8} {
				for _, w := range []*world{w, plain} {
					out, err := w.infer(w.inst, simpleRequest(w, rows, 4))
					require.NoError(t, err)
					require.Equal(t, ramp(rows, 9, 4), bytesOf(t, out[0], "OUTPUT0"))
					out[0].Release()
				}
			}
		})
	}

	// The proof: the same model is refused where only the CPU provider can run it.
	const kind = inferencepb.ModelInstanceGroup_KIND_CPU
	spec := with(t, specOf(t, simple(), 8), param("onnxruntime_library", path)+param("session.disable_cpu_ep_fallback", "1"))
	require.ErrorContains(t, loadError(t, spec, kind), "fallback to CPU EP has been explicitly disabled")
	spec = with(t, specOf(t, simple(), 8), accelerated(option("device_type", "NOSUCH")))
	require.ErrorContains(t, loadError(t, spec, kind), "fallback to CPU EP has been explicitly disabled")

	// A library that is named without a folder is looked up in the settings.
	spec = with(t, specOf(t, simple(), 8), param("onnxruntime_library", "openvino"))
	require.ErrorContains(t, loadError(t, spec, kind), "which no setting defines")
	spec.Settings = map[string]string{"library.openvino": filepath.Dir(path)}
	m, err := engineUnderTest(t).Load(context.Background(), spec)
	require.NoError(t, err)
	require.NoError(t, m.Close())
}
