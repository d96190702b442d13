package python

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/status"
)

// modelDirectory stands for the model's folder in EXECUTION_ENV_PATH.
const modelDirectory = "$$TRITON_MODEL_DIRECTORY"

// environmentOptions describe what a model asks for.
type environmentOptions struct {
	ModelDir string // the folder with config.pbtxt
	// Path is EXECUTION_ENV_PATH: a folder or an archive. Empty: Executable is used.
	Path string
	// Executable is the interpreter of models without an execution environment;
	// empty: python3 on the path.
	Executable string
	// Requirements is the path of a file for pip; empty: nothing is installed.
	Requirements string
	// Cache is the folder of unpacked archives and virtual environments; empty: a
	// folder of this user in the system's folder for temporary files.
	Cache string
	Log   *slog.Logger
}

// environment is what starts the processes of a model.
type environment struct {
	Interpreter string
	Env         []string // nil: that of the server
}

// Find returns the environment of a model. It unpacks and installs what is not in the
// cache.
func (s *environmentStore) Find(ctx context.Context, o environmentOptions) (environment, error) {
	e, err := s.base(ctx, o)
	if err != nil || o.Requirements == "" {
		return e, err
	}
	return s.virtual(ctx, o, e)
}

// base returns the environment without the model's requirements.
func (s *environmentStore) base(ctx context.Context, o environmentOptions) (environment, error) {
	if o.Path != "" {
		return s.execution(ctx, o)
	}
	name := o.Executable
	if name == "" {
		name = "python3"
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return environment{}, status.New(status.Unavailable,
			"no Python interpreter: %w; install python3, or name one with --backend-config=python,python-executable=<path>", err)
	}
	return environment{Interpreter: path}, nil
}

// execution returns an execution environment.
func (s *environmentStore) execution(ctx context.Context, o environmentOptions) (environment, error) {
	dir := strings.Replace(o.Path, modelDirectory, o.ModelDir, 1)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return environment{}, status.New(status.Internal, "Failed to get the canonical path for %s.", dir)
	}
	if real, err = filepath.Abs(real); err != nil {
		return environment{}, status.New(status.Internal, "Failed to get the canonical path for %s.", dir)
	}
	info, err := os.Stat(real)
	if err != nil {
		return environment{}, status.New(status.Internal, "stat() of : %s returned error.", real)
	}
	if !info.IsDir() {
		if real, err = s.unpacked(ctx, o, real); err != nil {
			return environment{}, err
		}
	}
	activate := filepath.Join(real, "bin", "activate")
	if _, err := os.Stat(activate); err != nil {
		return environment{}, status.New(status.Internal,
			"Path %s does not exist. The Python environment should contain an 'activate' script.", activate)
	}
	for _, name := range []string{"python3", "python"} {
		var path string
		if path, err = exec.LookPath(filepath.Join(real, "bin", name)); err == nil {
			return environment{Interpreter: path, Env: activated((&exec.Cmd{}).Environ(), real)}, nil
		}
	}
	return environment{}, status.New(status.Internal, "the execution environment %s has no interpreter: %w", real, err)
}

// activated returns an environment in which the folder comes first.
func activated(env []string, dir string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "PYTHONHOME" || name == "VIRTUAL_ENV" || name == "VIRTUAL_ENV_PROMPT"
	})
	env = append(env, "VIRTUAL_ENV="+dir, "VIRTUAL_ENV_PROMPT=("+dir+")")
	env = prefixList(env, "PATH", filepath.Join(dir, "bin"))
	return prefixList(env, "LD_LIBRARY_PATH", filepath.Join(dir, "lib"))
}

// prefixList puts a folder in front of a list of folders.
func prefixList(env []string, name, dir string) []string {
	for i, v := range env {
		if old, ok := strings.CutPrefix(v, name+"="); ok {
			env[i] = name + "=" + dir + ":" + old
			return env
		}
	}
	return append(env, name+"="+dir+":")
}
