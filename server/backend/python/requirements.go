package python

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"triton/pkg/status"
)

// interpreterInfo is the output of askInfo.
type interpreterInfo struct {
	Version  string   `json:"version"`
	Platform string   `json:"platform"`
	Prefix   string   `json:"prefix"`
	Packages []string `json:"packages"` // folders
}

const askInfo = `import json, site, sys, sysconfig
print(json.dumps({"version": sys.version, "platform": sysconfig.get_platform(), "prefix": sys.prefix, "packages": site.getsitepackages()}))`

// virtual returns a virtual environment over another environment, with the packages of
// a requirements file. One is made for each content of the file and each interpreter.
// The packages of the interpreter can be imported too.
func (s *environmentStore) virtual(ctx context.Context, o environmentOptions, base environment) (environment, error) {
	file, err := filepath.Abs(o.Requirements)
	if err != nil {
		return environment{}, status.New(status.Internal, "the requirements of a Python model: %w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return environment{}, status.New(status.InvalidArg, "the requirements of a Python model: %w", err)
	}
	out, err := runInterpreter(ctx, base, o.ModelDir, "-c", askInfo)
	if err != nil {
		return environment{}, err
	}
	var a interpreterInfo
	if err := json.Unmarshal(out, &a); err != nil {
		return environment{}, status.New(status.Internal, "%s does not describe itself: %w", base.Interpreter, err)
	}
	dir, err := environmentCache(o)
	if err != nil {
		return environment{}, err
	}
	h := sha256.New()
	for _, part := range []string{a.Version, a.Platform, a.Prefix, string(text)} {
		h.Write([]byte(part + "\x00")) // it does not fail
	}
	dir, err = cacheEntry(ctx, dir, "venv-"+hex.EncodeToString(h.Sum(nil)[:16]), func(dir string, lock *os.File) error {
		o.Log.Info("installing the requirements of a Python model", slog.String("file", file), slog.String("folder", dir))
		return installRequirements(ctx, file, base, a, dir, lock)
	})
	if err != nil {
		return environment{}, err
	}
	return overEnvironment(base, dir), nil
}

// overEnvironment returns the environment of a virtual environment that was made with another one.
func overEnvironment(base environment, dir string) environment {
	env := base.Env
	if env == nil {
		env = (&exec.Cmd{}).Environ()
	}
	return environment{Interpreter: filepath.Join(dir, "bin", "python"), Env: activated(env, dir)}
}

// installRequirements makes a virtual environment and runs pip in it. Options of pip, such as that
// of an index, come from its own environment variables and files.
func installRequirements(ctx context.Context, requirements string, base environment, a interpreterInfo, dir string, lock *os.File) error {
	beside := filepath.Dir(requirements)
	installer := func(e environment, args ...string) error {
		_, err := runInterpreterGuarded(ctx, e, beside, lock, args...)
		return err
	}
	if err := installer(base, "-m", "venv", "--without-pip", "--system-site-packages", dir); err != nil {
		return err
	}
	e := overEnvironment(base, dir)
	out, err := runInterpreter(ctx, e, beside, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
	if err != nil {
		return err
	}
	// A virtual environment of a virtual environment does not see the packages of the latter.
	path := filepath.Join(strings.TrimSpace(string(out)), "_base.pth")
	if err := os.WriteFile(path, []byte(strings.Join(a.Packages, "\n")+"\n"), 0o600); err != nil {
		return status.New(status.Internal, "making a virtual environment: %w", err)
	}
	if _, err := runInterpreter(ctx, e, beside, "-m", "pip", "--version"); err != nil {
		if err := installer(e, "-m", "ensurepip", "--default-pip"); err != nil {
			return err
		}
	}
	return installer(e, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--requirement", requirements)
}

// runInterpreter runs an interpreter and returns its standard output. The error has the last lines
// of what it printed.
func runInterpreter(ctx context.Context, e environment, dir string, args ...string) ([]byte, error) {
	return interpreterOutput(ctx, e, args, interpreterCommand(ctx, e, dir, args...))
}

// runInterpreterGuarded is runInterpreter for an interpreter that writes files and starts other processes. All of
// them end with the context and with this process, however it ends. They hold the lock.
func runInterpreterGuarded(ctx context.Context, e environment, dir string, lock *os.File, args ...string) ([]byte, error) {
	cmd := interpreterCommand(ctx, e, dir, append([]string{"-c", installGuard}, args...)...)
	release, err := guarded(cmd, lock)
	if err != nil {
		return nil, status.New(status.Internal, "%s: %w", e.Interpreter, err)
	}
	defer release()
	return interpreterOutput(ctx, e, args, cmd)
}

func interpreterCommand(ctx context.Context, e environment, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.Interpreter, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = withoutSecrets(e.Env, false), dir, 5*time.Second
	return cmd
}

// interpreterOutput runs a command. The args are those for the error.
func interpreterOutput(ctx context.Context, e environment, args []string, cmd *exec.Cmd) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(cause, err)
	}
	what := strings.Join(args[:min(len(args), 3)], " ")
	return nil, status.New(status.Internal, "%s %s: %w: %s", e.Interpreter, what, err, lastLines(out.String()+errs.String(), 8))
}

// lastLines returns the end of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
