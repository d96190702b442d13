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

// inspection describes the content of one Python file.
type inspection struct {
	Error     string `json:"error"` // the reason why the file is not valid Python
	Line, Col int
	Class     bool `json:"class"`    // the file has, or may have, the class TritonPythonModel
	Execute   bool `json:"execute"`  // the class has, or may have, the method execute
	Complete  bool `json:"complete"` // the class has auto_complete_config
	Known     bool `json:"known"`    // all methods are in the file: the class inherits none
}

// inspections holds the inspection of each path, and the version of the interpreter.
type inspections struct {
	version string
	files   map[string]inspection
}

// inspect reads Python files with an interpreter. It does not run them.
func inspect(python string, paths []string) (inspections, error) {
	request, err := json.Marshal(paths)
	if err != nil {
		return inspections{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), inspectTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-I", "-S", "-c", inspector)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(request), &out, &errs
	if err := cmd.Run(); err != nil {
		if text := bytes.TrimSpace(errs.Bytes()); len(text) > 0 {
			err = fmt.Errorf("%w: %s", err, text[bytes.LastIndexByte(text, '\n')+1:])
		}
		return inspections{}, err
	}
	var response struct {
		Version string
		Files   []inspection
	}
	if err := json.Unmarshal(out.Bytes(), &response); err != nil || len(response.Files) != len(paths) {
		return inspections{}, fmt.Errorf("%s wrote %q", python, out.Bytes())
	}
	all := inspections{version: response.Version, files: make(map[string]inspection, len(paths))}
	for i, path := range paths {
		all.files[path] = response.Files[i]
	}
	return all, nil
}
