package onnx

import (
	"bytes"
	"path/filepath"

	"triton/pkg/onnxmodel"
	"triton/pkg/status"
)

// checkExternal checks that the external data of a model is in the folder of the model, also behind
// symbolic links. ONNX Runtime checks that itself since version 1.24.
func checkExternal(path string, data []byte) error {
	graph, err := outlineOf(path, data)
	if err != nil {
		return nil //nolint:nilerr // ONNX Runtime reports what is wrong with the file
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return status.New(status.Unavailable, "the folder of the model file '%s': %w", path, err)
	}
	for _, name := range graph.External {
		if !filepath.IsLocal(name) {
			return escapes(path, name)
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil {
			continue // ONNX Runtime reports a file that is missing
		}
		if rel, err := filepath.Rel(dir, real); err != nil || !filepath.IsLocal(rel) {
			return escapes(path, name)
		}
	}
	return nil
}

func escapes(path, name string) error {
	return status.New(status.InvalidArg, "the external data '%s' of the model file '%s' is outside of the model's folder: put the file beside the model", name, path)
}

// outlineOf reads the signature that a model file declares. data is the file's content, or nil.
func outlineOf(path string, data []byte) (*onnxmodel.Model, error) {
	if data == nil {
		return onnxmodel.ReadFile(path)
	}
	return onnxmodel.Read(bytes.NewReader(data), int64(len(data)))
}
