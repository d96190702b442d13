package sharedlib

import (
	"os"
	"path/filepath"
	"strings"
)

// Find returns the path of a library in its own folder of a folder of libraries, <dir>/<name>/<file>.
// It finds nothing outside of dir, and nothing without one: an empty dir is not the working directory.
func Find(dir, name, file string) (path string, found bool) {
	path = filepath.Join(dir, name, file)
	if dir == "" || name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return path, false
	}
	_, err := os.Stat(path)
	return path, err == nil
}
