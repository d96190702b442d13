package unpack

import (
	"strings"
)

// Entries of these names in a layer remove entries of lower layers: one of them, or all of a folder.
const (
	whiteoutPrefix = ".wh."
	opaque         = ".wh..wh..opq"
)

func isWhiteout(name string) bool {
	_, base := split(name)
	return strings.HasPrefix(base, whiteoutPrefix)
}

// whiteout removes what lower layers have. What its own layer has stays, before it and after it.
func (t *Tree) whiteout(full string) error {
	dir, base := split(full)
	removed, all := strings.TrimPrefix(base, whiteoutPrefix), base == opaque
	target := dir
	if !all {
		if removed == "" || removed == "." || removed == ".." || strings.HasPrefix(removed, whiteoutPrefix) {
			return refuse(full, "is a whiteout of nothing")
		}
		target = strings.TrimPrefix(dir+"/"+removed, "/")
	}
	if target == "" || target == t.within || strings.HasPrefix(t.within, target+"/") {
		t.removeAll(t.top)
		return nil
	}
	if below, inside := t.below(target); inside {
		t.removeLower(below, all)
	}
	return nil
}

// removeLower removes what lower layers have at a path, or below it only.
func (t *Tree) removeLower(name string, below bool) {
	if below {
		if n := t.find(name); n != nil {
			t.removeAll(n)
		}
		return
	}
	dir, base := split(name)
	parent := t.find(dir)
	if parent == nil || parent.children[base] == nil || !parent.mark(base, t.layer) {
		return
	}
	if n := parent.children[base]; !t.prune(n) {
		delete(parent.children, base)
	}
}

func (t *Tree) removeAll(n *node) {
	if n.mark("", t.layer) {
		for base, child := range n.children {
			if !t.prune(child) {
				delete(n.children, base)
			}
		}
	}
}

// prune removes what lower layers have in a node and reports whether anything is left of it.
func (t *Tree) prune(n *node) bool {
	left := n.layer == t.layer
	for base, child := range n.children {
		if t.prune(child) {
			left = true
		} else {
			delete(n.children, base)
		}
	}
	return left
}

// mark reports whether a name is removed for the first time in a layer, so that a layer with the
// same whiteout many times costs no more.
func (n *node) mark(name string, layer int) bool {
	if n.removedBy != layer {
		n.removed, n.removedBy = map[string]bool{}, layer
	}
	again := n.removed[name]
	n.removed[name] = true
	return !again
}
