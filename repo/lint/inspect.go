package lint

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"
)

// inspector is the program that reads Python models.
//
//go:embed inspect.py
var inspector string

// inspectTime bounds the reading of all Python models.
const inspectTime = time.Minute

// inspection is what a Python file holds.
type inspection struct {
	Error     string `json:"error"` // the reason why the file is not valid Python
	Line, Col int
	Class     bool `json:"class"`    // it may have the class TritonPythonModel
	Execute   bool `json:"execute"`  // the class may have the method
	Complete  bool `json:"complete"` // the class has auto_complete_config
	Known     bool `json:"known"`    // the class inherits no methods
}

// inspected holds the inspections by path, and the version of the interpreter.
type inspected struct {
	version string
	files   map[string]inspection
}

// inspect reads Python files with an interpreter. It does not run them.
func inspect(python string, paths []string) (inspected, error) {
	question, err := json.Marshal(paths)
	if err != nil {
		return inspected{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), inspectTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-I", "-S", "-c", inspector)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(question), &out, &errs
	if err := cmd.Run(); err != nil {
		if text := bytes.TrimSpace(errs.Bytes()); len(text) > 0 {
			err = fmt.Errorf("%w: %s", err, text[bytes.LastIndexByte(text, '\n')+1:])
		}
		return inspected{}, err
	}
	var answer struct {
		Version string
		Files   []inspection
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || len(answer.Files) != len(paths) {
		return inspected{}, fmt.Errorf("%s answers %q", python, out.Bytes())
	}
	all := inspected{version: answer.Version, files: make(map[string]inspection, len(paths))}
	for i, path := range paths {
		all.files[path] = answer.Files[i]
	}
	return all, nil
}
