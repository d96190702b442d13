package model

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

// TestExplain: the error of a load says that the model file is in a format that no backend reads, for backends that
// read one file, and keeps its code and cause.
func TestExplain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "1")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.gguf"), []byte("GGUF\x03\x00\x00\x00"), 0o600))
	cause := errors.New("no such file")
	failed := status.New(status.Unavailable, "unable to load: %w", cause)
	err := explain(failed, dir, &inferencepb.ModelConfig{Backend: "onnxruntime"})
	require.EqualError(t, err, `unable to load: no such file (1/model.gguf is a GGUF file of llama.cpp: write a model.py that loads it with llama-cpp-python, and backend: "python")`)
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	require.ErrorIs(t, err, cause)
	require.Equal(t, failed, explain(failed, dir, &inferencepb.ModelConfig{Backend: "sklearn"}))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.onnx"), []byte("broken"), 0o600))
	require.Equal(t, failed, explain(failed, dir, &inferencepb.ModelConfig{Backend: "onnxruntime"}))
}
