package python

import (
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/status"
	"triton/server/backend"
)

// modelPy is the model file of models, and the program of backends written in Python.
const modelPy = "model.py"

// program is the Python code that runs a model: its own, or that of a Runtime.
type program struct {
	file   string   // with the class TritonPythonModel
	module string   // the name under which it is imported
	path   []string // added to sys.path
	dir    string   // pb_utils.get_model_dir()
}

// ownProgram returns the program of a model that has one.
func ownProgram(spec backend.Spec) (program, error) {
	file, err := modelFile(spec)
	if err != nil {
		return program{}, err
	}
	dir := filepath.Dir(file)
	stem := strings.TrimSuffix(filepath.Base(file), ".py")
	return program{
		file: file, module: filepath.Base(dir) + "." + stem, path: []string{dir, filepath.Dir(dir)}, dir: dir,
	}, nil
}

// sharedProgram returns the program of a backend in a folder.
func sharedProgram(spec backend.Spec, folder string) program {
	return program{
		file: filepath.Join(folder, modelPy), module: "model", path: []string{folder},
		dir: filepath.Dir(filepath.Join(spec.Dir, fileName(spec))),
	}
}

// fileName returns the name of the model file.
func fileName(spec backend.Spec) string {
	if spec.File == "" {
		return modelPy
	}
	return spec.File
}

// modelFile returns the path of model.py.
func modelFile(spec backend.Spec) (string, error) {
	name := fileName(spec)
	if !strings.HasSuffix(name, ".py") {
		return "", status.New(status.Internal, "Model name must end with '.py'. Model name is \"%s\".", name)
	}
	path := filepath.Join(spec.Dir, name)
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return "", status.New(status.Internal, "Failed to preinitialize Python stub: Python model file not found in '%s'", path)
	}
	return path, nil
}
