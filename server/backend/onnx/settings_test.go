package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
)

func TestLibraryOf(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"library": "/default.so", "library.ov": "/ov.so"}
	for _, c := range []struct{ parameter, want, err string }{
		{"", "/default.so", ""},
		{"ov", "/ov.so", ""},
		{"/other/lib.so", "/other/lib.so", ""},
		{"./lib.so", "/m/1/lib.so", ""},
		{"nosuch", "", "the parameter onnxruntime_library of model 'm' names the library 'nosuch', which no setting defines: start the server with --backend-config onnxruntime,library.nosuch=<path>"},
	} {
		spec := backend.Spec{Name: "m", Dir: "/m/1", Settings: settings, Config: &inferencepb.ModelConfig{
			Parameters: map[string]*inferencepb.ModelParameter{"onnxruntime_library": {StringValue: c.parameter}},
		}}
		got, err := libraryOf(spec)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			require.Equal(t, status.InvalidArg, status.CodeOf(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got.path)
	}
}

func TestArenaSettings(t *testing.T) {
	t.Parallel()
	got, err := arenaSettings(map[string]string{"cpu-arena.max_mem": "1048576", "cpu-arena.arena_extend_strategy": "1", "library": "x"})
	require.NoError(t, err)
	require.Equal(t, []arenaSetting{{"arena_extend_strategy", 1}, {"max_mem", 1 << 20}}, got)
	got, err = arenaSettings(map[string]string{"library": "x"})
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = arenaSettings(map[string]string{"cpu-arena.maximum": "1"})
	require.ErrorContains(t, err, "unknown setting 'cpu-arena.maximum' of the backend onnxruntime: write cpu-arena. followed by one of max_mem, ")
	_, err = arenaSettings(map[string]string{"cpu-arena.max_mem": "-1"})
	require.EqualError(t, err, "the setting 'cpu-arena.max_mem' of the backend onnxruntime: failed to convert '-1' to integral number")
}
