package mirror

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Limits of names on common file systems.
const (
	maxName = 255
	maxPath = 3000
)

// CheckName returns an error unless a name with slashes is a path below a folder: relative, without
// empty, dot or dot-dot parts, and of a length that file systems have.
func CheckName(name string) error {
	if len(name) > maxPath {
		return fmt.Errorf("the name %q... has %d bytes; at most %d are allowed", name[:64], len(name), maxPath)
	}
	if strings.ContainsAny(name, "\x00\\") || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("the name %q is not a path below the folder of a model", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return fmt.Errorf("the name %q is not a path below the folder of a model", name)
		case len(part) > maxName:
			return fmt.Errorf("a part of the name %q... has %d bytes; at most %d are allowed", name[:min(len(name), 64)], len(part), maxName)
		}
	}
	return nil
}
