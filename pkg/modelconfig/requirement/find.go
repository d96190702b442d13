package requirement

import (
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
)

const (
	ruleRuntime = "TRN107"
	ruleUnknown = "TRN108"
)

// Program is the file of a backend that is written in Python, in its folder of the backend
// directory.
const Program = "model.py"

// Search is where backends are.
type Search struct {
	// Has reports whether the server has a backend of a name itself, and whether one of the same
	// name in the backend directory replaces it.
	Has func(name string) (has, replaceable bool)
	// Directory is the --backend-directory.
	Directory string
	// Model are the directories of the version and the model, where Triton looks for libraries too.
	Model []string
}

// Find looks for the backend of a configuration as Triton does: a backend of the server stands for a
// library, so it comes before the model.py in the backend directory, unless the runtime names the
// model.py. The folder is that of a backend written in Python, else empty. At most one mistake is
// found.
func Find(c *modelconfig.Config, s Search) (folder string, found []modelconfig.Finding) {
	k := checker{Config: c, backend: c.GetBackend()}
	has, replaceable := s.Has(k.backend)
	folder = filepath.Join(s.Directory, k.backend)
	path := filepath.Join(folder, Program)
	switch library := "libtriton_" + k.backend + ".so"; c.GetRuntime() {
	case "":
		custom := !has || replaceable && !isFile(filepath.Join(folder, library))
		if custom && isFile(path) {
			return folder, nil
		}
		if !has {
			k.add(ruleUnknown, "backend", "", "unable to find backend library for backend '%s', try specifying runtime on the model configuration.", k.backend)
		}
	case Program:
		if isFile(path) {
			return folder, nil
		}
		if !has || !replaceable {
			k.add(ruleRuntime, "runtime", "remove it",
				"unable to find Python backend based backend library '%s' for model '%s', searched: '%s'", Program, c.GetName(), path)
		}
	default:
		if !has || c.GetRuntime() != library {
			k.noLibrary(append(s.Model, folder))
		}
	}
	return "", k.found
}

// noLibrary reports a runtime that cannot be used.
func (k *checker) noLibrary(dirs []string) {
	runtime := k.GetRuntime()
	var searched strings.Builder
	for _, dir := range dirs {
		path := filepath.Join(dir, runtime)
		if !exists(path) {
			searched.WriteString("'" + dir + "' ")
			continue
		}
		if rel, err := filepath.Rel(dir, path); err != nil || !filepath.IsLocal(rel) {
			k.add(ruleRuntime, "runtime", "write the name of the library alone",
				"backend library name '%s' escapes backend directory '%s', for model '%s', check model config runtime field", runtime, dir, k.GetName())
			return
		}
		k.add(ruleRuntime, "runtime", "remove it, or use a backend of this server",
			"the backend library %s of model '%s' cannot be opened: this server does not run backends that are shared libraries", path, k.GetName())
		k.found[len(k.found)-1].Code = status.Unsupported
		return
	}
	k.add(ruleRuntime, "runtime", "remove it", "unable to find backend library '%s' for model '%s', searched: %s", runtime, k.GetName(), searched.String())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
