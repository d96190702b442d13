package unpack

import (
	"errors"
	"path"
	"strings"
)

// What no model repository needs: longer names and deeper folders are refused.
const (
	maxName  = 4096
	maxPart  = 255
	maxDepth = 64
)

// localName returns an entry's path below the root: clean, with slashes, "" for the root itself.
// In the layers of an image, an absolute path begins at the image's root.
func localName(name string, image bool) (string, error) {
	if image {
		name = strings.TrimLeft(name, "/")
	}
	switch {
	case len(name) > maxName:
		return "", errors.New("has a name that is too long")
	case strings.ContainsAny(name, "\x00\\"):
		return "", errors.New("has a backslash or a zero byte in its name")
	case path.IsAbs(name):
		return "", errors.New("has an absolute path")
	}
	depth := 0
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return "", errors.New("leads out of the archive")
		case len(part) > maxPart:
			return "", errors.New("has a name that is too long")
		case part != "" && part != ".":
			depth++
		}
	}
	if depth > maxDepth {
		return "", errors.New("is nested too deep")
	}
	if name = path.Clean(name); name == "." {
		return "", nil
	}
	return name, nil
}

// below returns a path relative to the folder that is kept, and whether it is in there.
func (t *Tree) below(name string) (string, bool) {
	if t.within == "" || name == t.within {
		return strings.TrimPrefix(name, t.within), true
	}
	return strings.CutPrefix(name, t.within+"/")
}

// split returns a path's folder and its last part.
func split(name string) (dir, base string) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}
