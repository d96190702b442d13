package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"time"

	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/server/backend/onnx"
)

func onnxRuntime(_ context.Context, p process.Process, o options) []Finding {
	const check = "ONNX Runtime"
	if !onnx.Linked {
		return nil
	}
	path, err := onnx.Find(machine.ONNXRuntime(p, "", o.backends))
	if err != nil {
		return []Finding{about(check, Warning, "no library").do("%v", err)}
	}
	version, err := onnx.Version(path)
	if err != nil {
		return []Finding{about(check, Failure, "%s", path).do("%v", err)}
	}
	return []Finding{about(check, OK, "%s, %s", version, path)}
}

// pythonTime bounds the start of an interpreter and the import of numpy.
const pythonTime = 20 * time.Second

// askPython prints what a Python model needs, as JSON.
const askPython = `import json, sys
numpy, error = "", ""
try:
    import numpy as n
    numpy = n.__version__
except Exception as e:
    error = f"{type(e).__name__}: {e}"
print(json.dumps({"version": sys.version.split()[0], "minor": sys.version_info[:2], "numpy": numpy, "error": error}))`

func pythonModels(ctx context.Context, p process.Process, o options) []Finding {
	const check = "Python models"
	name := cmp.Or(o.python, "python3")
	path, err := exec.LookPath(name)
	if err != nil {
		return []Finding{about(check, Warning, "no interpreter").do("models with backend \"python\" need one: install Python 3.9 or newer, or name it with --backend-config=python,python-executable=PATH (%v)", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, pythonTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-c", askPython)
	cmd.Env = p.Environ
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var answer struct {
		Version string
		Minor   [2]int
		Numpy   string
		Error   string
	}
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	switch {
	case err != nil:
		return []Finding{about(check, Failure, "%s cannot be run", path).do("%s", strings.TrimSpace(err.Error()))}
	case answer.Minor[0] < 3 || answer.Minor[0] == 3 && answer.Minor[1] < 9:
		return []Finding{about(check, Failure, "Python %s, %s", answer.Version, path).do("models need Python 3.9 or newer")}
	case answer.Numpy == "":
		return []Finding{about(check, Warning, "Python %s without numpy, %s", answer.Version, path).do("run \"%s -m pip install numpy\" (%s)", path, answer.Error)}
	}
	return []Finding{about(check, OK, "Python %s, numpy %s, %s", answer.Version, answer.Numpy, path)}
}
