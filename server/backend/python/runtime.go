package python

import (
	"embed"
	"errors"
	"os"
	"path/filepath"
)

//go:embed runtime/*.py
var modules embed.FS

// writeRuntime writes the modules that children import to a private directory, so
// that processes which a model starts can import them too.
func writeRuntime() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "triton_python_"); err != nil {
		return "", err
	}
	files, err := modules.ReadDir("runtime")
	for _, f := range files {
		var text []byte
		if text, err = modules.ReadFile("runtime/" + f.Name()); err == nil {
			err = os.WriteFile(filepath.Join(dir, f.Name()), text, 0o600)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}
