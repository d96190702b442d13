package python

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed runtime/*.py
var modules embed.FS

// shipped are the backends in Python that are part of this program.
//
//go:embed shipped/*.py shipped/*/model.py
var shipped embed.FS

// writeRuntime writes the modules that children import, and the shipped backends, to a
// private directory, so that processes which a model starts can import them too.
func writeRuntime() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "triton_python_"); err != nil {
		return "", err
	}
	if err = errors.Join(extractModules(modules, "runtime", dir), extractModules(shipped, "shipped", dir)); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// extractModules writes the files of a folder of this program.
func extractModules(from fs.FS, folder, dir string) error {
	files, err := fs.Sub(from, folder)
	if err != nil {
		return err
	}
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, path)
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
}
