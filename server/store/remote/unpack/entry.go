package unpack

import (
	"archive/tar"
	"context"
	"io"
	"path"
	"strings"
)

// tarEntry adds one entry of a tar archive. In the layers of an image, entries may remove those of
// lower layers.
func (t *Tree) tarEntry(ctx context.Context, h *tar.Header, from io.Reader, image bool) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	full, err := localName(h.Name, image)
	if err != nil {
		return refuse(h.Name, "%s", err)
	}
	if image && isWhiteout(full) {
		return t.whiteout(full)
	}
	name, inside := t.below(full)
	if !inside {
		return nil
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return t.placeFolder(name)
	case tar.TypeReg, tar.TypeGNUSparse:
		return t.addFile(ctx, name, from)
	case tar.TypeLink:
		return t.hardLink(name, h.Linkname, image)
	case tar.TypeSymlink:
		return t.symlink(name, h.Linkname, image)
	}
	return refuse(h.Name, "is a device, a pipe or of another type (%q) that models do not need", h.Typeflag)
}

// addFile adds a file and keeps its content.
func (t *Tree) addFile(ctx context.Context, name string, from io.Reader) error {
	n := &node{kind: file}
	if err := t.place(name, n); err != nil {
		return err
	}
	var err error
	n.content, err = t.keep(ctx, Origin{t.layer, name}, &content{ctx: ctx, tree: t, from: from})
	return err
}

// hardLink adds a second name of a file that is there.
func (t *Tree) hardLink(name, target string, image bool) error {
	full, err := localName(target, image)
	if err != nil {
		return refuse(name, "is a hard link to %q, which %s", shorten(target), err)
	}
	to, inside := t.below(full)
	if old := t.find(to); inside && old != nil && old.kind == file {
		return t.place(name, &node{kind: file, content: old.content})
	}
	return refuse(name, "is a hard link to %q, which is no file before it", shorten(target))
}

// symlink adds a symbolic link. Its target must be inside of what is kept.
func (t *Tree) symlink(name, target string, image bool) error {
	if len(target) > maxName || strings.ContainsAny(target, "\x00\\") || path.IsAbs(target) && !image {
		return refuse(name, "is a link to %q, outside of the archive", shorten(target))
	}
	at := target
	if !path.IsAbs(target) {
		at = path.Join(t.within, path.Dir(name), target) // keeps a leading ".."
	}
	if at == ".." || strings.HasPrefix(at, "../") {
		return refuse(name, "is a link to %q, outside of the archive", shorten(target))
	}
	at = strings.TrimPrefix(path.Clean(at), "/")
	if at == "." {
		at = ""
	}
	to, inside := t.below(at)
	if !inside {
		return refuse(name, "is a link to %q, outside of what is kept of the archive", shorten(target))
	}
	return t.place(name, &node{kind: link, target: to})
}
