package example

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// wheel is a published Python package with a known hash.
type wheel struct{ name, version, file, sha256 string }

// fetcher downloads packages with pip, so that the user's settings (mirrors, proxies,
// certificates) apply.
type fetcher struct {
	python string
	dir    string // keeps the packages; "" keeps none
}

// get returns the path of a package in the fetcher's folder, or in scratch if it has
// none. An existing package is not downloaded.
func (f fetcher) get(ctx context.Context, w wheel, scratch string) (string, error) {
	dir := cmp.Or(f.dir, scratch)
	path := filepath.Join(dir, w.file)
	switch err := w.verify(path); {
	case err == nil:
		return path, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(dir, ".fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	if err := f.download(ctx, w, temp); err != nil {
		return "", err
	}
	fetched := filepath.Join(temp, w.file)
	if err := w.verify(fetched); err != nil {
		return "", err
	}
	return path, os.Rename(fetched, path)
}

// verify checks the content of a package.
func (w wheel) verify(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != w.sha256 {
		return fmt.Errorf("%s has the sha256 %s, not %s: delete it", path, sum, w.sha256)
	}
	return nil
}

// download runs pip, which checks the hash too. It runs in dir: in the current folder,
// Python would import a file named pip.py.
func (f fetcher) download(ctx context.Context, w wheel, dir string) error {
	python, err := exec.LookPath(f.python)
	if err == nil {
		python, err = filepath.Abs(python)
	}
	if err != nil {
		return fmt.Errorf("fetch %s %s: needs Python with pip: %w; install it, name another with --python, or put %s into the folder of --packages",
			w.name, w.version, err, w.file)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, fmt.Appendf(nil, "%s==%s --hash=sha256:%s\n", w.name, w.version, w.sha256), 0o644); err != nil {
		return err
	}
	// The models are the same in the packages for all systems, so one of them is enough.
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input",
		"--no-deps", "--require-hashes", "--only-binary=:all:", "--implementation", "cp", "--python-version", "3.11",
		"--platform", "manylinux_2_28_x86_64", "--dest", dir, "--requirement", list)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return fmt.Errorf("fetch %s %s: %s -m pip download: %w\n%s", w.name, w.version, f.python, err, tail(string(out)))
	}
	return nil
}

// tail returns the end of a program's output, which says why it failed.
func tail(text string) string {
	const lines = 6
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
