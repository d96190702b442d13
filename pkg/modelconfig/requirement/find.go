package requirement

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/modelconfig"
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
	// Plugin reports whether the user prefers the library of a backend that the server has
	// itself; nil: for none.
	Plugin func(name string) bool
}

// Found is where a backend was found. The zero value is a backend of the server.
type Found struct {
	// Folder is that of a backend written in Python.
	Folder string
	// Library is the shared library to open. With Folder it is that of the Python backend,
	// which runs the backend in the folder.
	Library string
}

// Find looks for the backend of a configuration as Triton does. A backend of the server stands for
// a library in the backend directory. It gives way to a library in the directories of the model,
// to one that the runtime names, and to one that the user prefers; and to a model.py that the
// runtime names. At most one mistake is found.
func Find(c *modelconfig.Config, s Search) (where Found, found []modelconfig.Finding) {
	k := checker{Config: c, backend: c.GetBackend()}
	k.find(&where, s)
	return where, k.found
}

func (k *checker) find(where *Found, s Search) {
	has, replaceable := s.Has(k.backend)
	prefer := s.Plugin != nil && s.Plugin(k.backend)
	folder := filepath.Join(s.Directory, k.backend)
	dirs := append(slices.Clone(s.Model), folder)
	path := filepath.Join(folder, Program)
	switch library := "libtriton_" + k.backend + ".so"; k.GetRuntime() {
	case "":
		if has && !prefer {
			dirs = s.Model
		}
		custom := !has || replaceable && !isFile(filepath.Join(folder, library))
		switch {
		case k.library(where, library, dirs):
		case custom && isFile(path):
			k.program(where, s, folder)
		case prefer && has:
			k.noLibrary(library, append(slices.Clone(s.Model), folder))
		case !has:
			k.add(ruleUnknown, "backend", "", "unable to find backend library for backend '%s', try specifying runtime on the model configuration.", k.backend)
		}
	case Program:
		switch {
		case isFile(path):
			k.program(where, s, folder)
		case !has || !replaceable:
			k.add(ruleRuntime, "runtime", "remove it",
				"unable to find Python backend based backend library '%s' for model '%s', searched: '%s'", Program, k.GetName(), path)
		}
	default:
		runtime := k.GetRuntime()
		if !k.library(where, runtime, dirs) && (!has || runtime != library) {
			k.noLibrary(runtime, dirs)
		}
	}
}

// program uses the backend that a folder has in Python.
func (k *checker) program(where *Found, s Search, folder string) {
	where.Folder = folder
	if s.Plugin == nil || !s.Plugin("python") {
		return
	}
	dirs := append(slices.Clone(s.Model), folder, filepath.Join(s.Directory, "python"))
	if !k.library(where, pythonLibrary, dirs) {
		k.noLibrary(pythonLibrary, dirs)
	}
}

const pythonLibrary = "libtriton_python.so"

// library looks for a library in directories. It reports false when none has it.
func (k *checker) library(where *Found, name string, dirs []string) bool {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if !exists(path) {
			continue
		}
		if rel, err := filepath.Rel(dir, path); err != nil || !filepath.IsLocal(rel) {
			k.add(ruleRuntime, "runtime", "write the name of the library alone",
				"backend library name '%s' escapes backend directory '%s', for model '%s', check model config runtime field", name, dir, k.GetName())
			return true
		}
		where.Library = path
		return true
	}
	return false
}

// noLibrary reports a library that is in none of the directories.
func (k *checker) noLibrary(name string, dirs []string) {
	var searched strings.Builder
	for _, dir := range dirs {
		searched.WriteString("'" + dir + "' ")
	}
	k.add(ruleRuntime, "runtime", "remove it", "unable to find backend library '%s' for model '%s', searched: %s", name, k.GetName(), searched.String())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
