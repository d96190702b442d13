package lint

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/modelconfig"
	"triton/repo"
)

const pythonBackend = "python"

// python checks the Python models among the runs, with one interpreter for all.
func python(interpreter string, runs []*run) {
	var paths []string
	for _, r := range runs {
		paths = append(paths, r.programs()...)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if interpreter == "" || len(paths) == 0 {
		return
	}
	all, err := inspect(interpreter, paths)
	for _, r := range runs {
		for _, path := range r.programs() {
			if err != nil {
				r.addFile(rulePythonSkipped, path, fmt.Sprintf("model.py is not checked: %s", err), "name an interpreter with --python")
				continue
			}
			r.program(path, all)
		}
	}
}

// programs returns the model files of a Python model.
func (r *run) programs() []string {
	if r.ConfigOnly || r.config == nil || r.config.Backend != pythonBackend || r.config.Runtime == "model.py" {
		return nil
	}
	file := modelconfig.ModelFile(r.config.ModelConfig)
	if !strings.HasSuffix(file, ".py") {
		return nil
	}
	var paths []string
	for _, v := range r.served {
		if path := filepath.Join(v.path, file); !isPointer(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// program checks one model file.
func (r *run) program(path string, all inspections) {
	const class = "TritonPythonModel"
	file := all.files[path]
	at := func(rule repo.Rule, msg, hint string) {
		r.found = append(r.found, repo.Finding{
			Rule: rule.ID, Severity: rule.Severity, Model: r.Name, File: path, Line: file.Line, Col: max(file.Col, 1), Msg: msg, Hint: hint,
		})
	}
	r.fixed = file.Error == "" && file.Known && !file.Complete
	r.completing = r.completing || file.Error == "" && (file.Complete || file.Class && !file.Known)
	described := len(r.written.Input)+len(r.written.Output) > 0
	switch {
	case file.Error != "":
		at(rulePython, file.Error+" (read by Python "+all.version+")", "correct it, or name the interpreter of the server with --python")
	case !file.Class:
		at(rulePythonClass, "there is no class "+class, "name the model's class "+class)
	case !file.Execute:
		at(rulePythonClass, "the class "+class+" has no method execute", "add execute(self, requests)")
	case !described && !file.Complete && file.Known:
		at(ruleNoTensors, "neither config.pbtxt nor auto_complete_config describes inputs and outputs",
			"list them in config.pbtxt, or add auto_complete_config")
	case described && file.Complete:
		at(ruleTensorsTwice, "config.pbtxt and auto_complete_config both describe the tensors: if they differ, the model does not load",
			"describe the tensors in one place")
	}
}

// programName checks the name of the model file of a Python model.
func (r *run) programName() {
	if r.config.Backend != pythonBackend || r.config.Runtime == "model.py" {
		return
	}
	if file := modelconfig.ModelFile(r.config.ModelConfig); !strings.HasSuffix(file, ".py") {
		r.add(rulePython, "default_model_filename", fmt.Sprintf("Model name must end with '.py'. Model name is %q.", file), "remove it, or name a Python file")
	}
}
