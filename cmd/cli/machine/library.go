package machine

import (
	"os"
	"path/filepath"

	"triton/cmd/cli/process"
	"triton/server/backend/onnx"
)

// ONNXRuntime returns where to look for ONNX Runtime. explicit is the file that the user names, or
// empty; backends is the folder of backends.
func ONNXRuntime(p process.Process, explicit, backends string) onnx.Search {
	search := onnx.Search{Explicit: explicit, Getenv: p.Getenv, Backends: backends}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		search.Executable = exe
	}
	if dir, err := os.Getwd(); err == nil {
		search.Directory = dir
	}
	return search
}
