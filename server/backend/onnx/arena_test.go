//go:build cgo && (linux || darwin)

package onnx

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
	"triton/server/backend"
)

const sharedArenaChild = "TRITON_TEST_SHARED_ARENA"

// TestSharedArena gives the arena of all models a limit. It runs in a process of its own, because the
// arena belongs to the environment.
func TestSharedArena(t *testing.T) {
	if os.Getenv(sharedArenaChild) == "" {
		t.Parallel()
		engineUnderTest(t)
		child := exec.Command(os.Args[0], "-test.run=^TestSharedArena$", "-test.v")
		child.Env = append(os.Environ(), sharedArenaChild+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	settings := map[string]string{"cpu-arena.max_mem": "16777216", "cpu-arena.arena_extend_strategy": "1"}
	run := func(w *world, bytes []byte) error {
		out, err := w.infer(w.inst, w.request(0, input{"x", tensor.Uint8, tensor.Shape{int64(len(bytes))}, bytes}))
		if err == nil {
			require.Equal(t, bytes, bytesOf(t, out[0], "y"))
			out[0].Release()
		}
		return err
	}
	for range 2 { // two sessions share the arena
		spec := specOf(t, identity(onnxmodel.Uint8, -1), 0)
		spec.Settings = settings
		w := load(t, spec)
		require.NoError(t, run(w, bytes.Repeat([]byte{7}, 8<<20)))
		require.ErrorContains(t, run(w, make([]byte, 32<<20)), "onnx runtime error", "above the limit")
		require.NoError(t, run(w, bytes.Repeat([]byte{8}, 8<<20)), "the instance works on")
		for _, m := range w.model.(backend.MemoryReporter).Memory() {
			require.Less(t, m.Bytes, uint64(16<<20), "the shared arena is not the model's")
		}
	}
	// Without an arena ONNX Runtime's memory has no limit.
	spec := with(t, specOf(t, identity(onnxmodel.Uint8, -1), 0), param("enable_mem_arena", "0")+param("session.use_env_allocators", "0"))
	spec.Settings = settings
	require.NoError(t, run(load(t, spec), make([]byte, 32<<20)))
}
