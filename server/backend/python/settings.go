package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/pkg/status"
	"triton/server/backend"
)

// settings are the --backend-config pairs.
type settings struct {
	executable string
	start      time.Duration // until the interpreter runs and has imported numpy
	stop       time.Duration // for finalize
}

func parseSettings(pairs map[string]string) (settings, error) {
	s := settings{executable: pairs["python-executable"], start: 30 * time.Second, stop: 30 * time.Second}
	for _, c := range []struct {
		key string
		to  *time.Duration
	}{{"start-timeout-seconds", &s.start}, {"stub-timeout-seconds", &s.stop}} {
		text, ok := pairs[c.key]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return s, status.New(status.InvalidArg, "--backend-config python,%s=%s: not a number", c.key, text)
		}
		if n <= 0 {
			return s, status.New(status.InvalidArg, "%s can't be smaller than or equal to zero.", c.key)
		}
		*c.to = time.Duration(n) * time.Second
	}
	return s, nil
}

// findInterpreter returns the interpreter of a model and the environment of its
// processes; a nil environment is that of the server.
func findInterpreter(spec backend.Spec, setting string) (path string, env []string, err error) {
	dir := spec.Config.GetParameters()["EXECUTION_ENV_PATH"].GetStringValue()
	if dir != "" {
		return environment(spec, dir)
	}
	if setting == "" {
		setting = "python3"
	}
	if path, err = exec.LookPath(setting); err != nil {
		return "", nil, status.New(status.Unavailable,
			"no Python interpreter: %w; install python3, or name one with --backend-config=python,python-executable=<path>", err)
	}
	return path, nil, nil
}

// environment returns the interpreter and the variables of an execution environment.
func environment(spec backend.Spec, dir string) (path string, env []string, err error) {
	if rest, ok := strings.CutPrefix(dir, "$$TRITON_MODEL_DIRECTORY"); ok {
		model := filepath.Dir(spec.Dir)
		dir = filepath.Join(model, rest)
		if rel, err := filepath.Rel(model, dir); err != nil || !filepath.IsLocal(rel) {
			return "", nil, status.New(status.InvalidArg, "EXECUTION_ENV_PATH leaves the model's directory: %s", dir)
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", nil, status.New(status.Internal, "Failed to get the canonical path for %s.", dir)
	}
	if !info.IsDir() {
		return "", nil, status.New(status.Unsupported,
			"EXECUTION_ENV_PATH %s is an archive: execution environments in archives are not supported yet; unpack it and name the folder", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "bin", "activate")); err != nil {
		return "", nil, status.New(status.Internal,
			"Path %s/bin/activate does not exist. The Python environment should contain an 'activate' script.", dir)
	}
	for _, name := range []string{"python3", "python"} {
		if path, err = exec.LookPath(filepath.Join(dir, "bin", name)); err == nil {
			return path, activated((&exec.Cmd{}).Environ(), dir), nil
		}
	}
	return "", nil, status.New(status.Internal, "the execution environment %s has no interpreter: %w", dir, err)
}

// activated returns an environment in which the folder comes first.
func activated(env []string, dir string) []string {
	env = slices.Clone(env)
	env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "PYTHONHOME=") })
	env = append(env, "VIRTUAL_ENV="+dir, "VIRTUAL_ENV_PROMPT=("+dir+")")
	env = prefix(env, "PATH", filepath.Join(dir, "bin"))
	return prefix(env, "LD_LIBRARY_PATH", filepath.Join(dir, "lib"))
}

// prefix puts a folder in front of a list of folders.
func prefix(env []string, name, dir string) []string {
	for i, v := range env {
		if old, ok := strings.CutPrefix(v, name+"="); ok {
			env[i] = name + "=" + dir + ":" + old
			return env
		}
	}
	return append(env, name+"="+dir+":")
}
