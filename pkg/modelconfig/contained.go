package modelconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/status"
)

// LocalName reports whether a name of a file in a configuration stays in its folder: it is
// relative, and no element is "..". Names that begin with dots, such as ..data/labels.txt of
// Kubernetes, are local.
func LocalName(name string) bool {
	return filepath.IsLocal(name) && !slices.Contains(strings.Split(filepath.ToSlash(name), "/"), "..")
}

// ReadOwn reads a text file of the model in dir by a name in its configuration. Callers may get its
// content, so links do not lead out of the model and its repository, which is the folder of dir.
func ReadOwn(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	if !LocalName(name) || !contained(dir, path) {
		return nil, outside(path)
	}
	return ReadText(path)
}

func outside(path string) error {
	return status.New(status.Unsupported, "file '%s' is outside of the model repository, or a link that leads there: copy it into the folder of the model", path)
}

// contained reports whether a path in dir leads to a file in dir or in the folder of dir, after all
// links. One that leads nowhere, or to something else than a file, counts as contained: it cannot
// be read.
func contained(dir, path string) bool {
	target, err := resolve(path)
	if err != nil {
		return true
	}
	if info, err := os.Stat(target); err != nil || !info.Mode().IsRegular() {
		return true
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return false
	}
	for _, root := range []string{dir, filepath.Dir(dir)} {
		root, err := resolve(root)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, target); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// resolve returns the absolute path without links.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
