package unpack

import (
	"path"
	"strings"
)

type kind int

const (
	folder kind = iota
	file
	link
)

// node is a file, folder or symbolic link.
type node struct {
	kind     kind
	layer    int // that made it
	children map[string]*node
	content  Content
	target   string // of a link: relative to the root of the tree
	// removed are the children that whiteouts of layer removedBy name; "" is all of them.
	removed   map[string]bool
	removedBy int
}

// find returns the node at a path without following links; nil: there is none.
func (t *Tree) find(name string) *node {
	n := t.top
	if name == "" {
		return n
	}
	for part := range strings.SplitSeq(name, "/") {
		if n = n.children[part]; n == nil {
			return nil
		}
	}
	return n
}

// maxLinks bounds the links on the way to a file, as operating systems do.
const maxLinks = 40

// follow returns the file or folder that a link leads to; nil: there is none.
func (t *Tree) follow(n *node) *node {
	name := n.target
	for range maxLinks {
		to, through := t.step(name)
		if to == nil || through == "" {
			return to
		}
		name = through
	}
	return nil
}

// step walks a path up to the first link on it, and returns the path with the link replaced by its
// target.
func (t *Tree) step(name string) (to *node, through string) {
	n := t.top
	rest := name
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		if n = n.children[part]; n == nil {
			return nil, ""
		}
		if n.kind == link {
			if through = strings.Trim(path.Join(n.target, rest), "/"); through == "" {
				return t.top, ""
			}
			return n, through
		}
	}
	return n, ""
}

// folder returns the folder at a path, and makes what is missing of it. The name is the entry's.
func (t *Tree) folder(dir, name string) (*node, error) {
	n := t.top
	if dir == "" {
		return n, nil
	}
	for part := range strings.SplitSeq(dir, "/") {
		child := n.children[part]
		switch {
		case child == nil:
			child = &node{kind: folder, layer: t.layer}
			n.put(part, child)
		case child.kind == link:
			return nil, refuse(name, "is below a link")
		case child.kind == file:
			return nil, refuse(name, "is below a file")
		}
		n = child
	}
	return n, nil
}

func (n *node) put(name string, child *node) {
	if n.children == nil {
		n.children = map[string]*node{}
	}
	n.children[name] = child
}

// place puts a file or link. It replaces what a lower layer has there.
func (t *Tree) place(name string, n *node) error {
	n.layer = t.layer
	if name == "" {
		return refuse(name, "is no folder, in place of the root")
	}
	dir, base := split(name)
	parent, err := t.folder(dir, name)
	if err != nil {
		return err
	}
	if old := parent.children[base]; old != nil && (old.layer == t.layer || old.has(t.layer)) {
		return refuse(name, "is there twice")
	}
	parent.put(base, n)
	return nil
}

// has reports whether a layer made anything in a folder.
func (n *node) has(layer int) bool {
	for _, c := range n.children {
		if c.layer == layer || c.has(layer) {
			return true
		}
	}
	return false
}

// placeFolder puts a folder. It keeps the content of one that is there.
func (t *Tree) placeFolder(name string) error {
	if name == "" {
		return nil
	}
	dir, base := split(name)
	parent, err := t.folder(dir, name)
	if err != nil {
		return err
	}
	switch old := parent.children[base]; {
	case old != nil && old.kind == folder:
		old.layer = t.layer
	case old != nil && old.layer == t.layer:
		return refuse(name, "is a folder and something else")
	default:
		parent.put(base, &node{kind: folder, layer: t.layer})
	}
	return nil
}
