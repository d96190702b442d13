// Package unpack reads archives from the network: tar, plain or compressed by gzip or zstd, zip,
// and the layers of container images. It takes every archive for hostile. It writes no files: the
// caller keeps the content of each, and no name from an archive ever becomes a path here. What an
// archive may cost is bounded while it is read.
package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// ErrRefused is wrapped by the errors about archives that are broken, hostile or too large.
var ErrRefused = errors.New("refused")

// Limits bound what an archive, or all layers of an image, may contain.
type Limits struct {
	// Bytes bounds the bytes after decompression, those of entries that are skipped included.
	Bytes int64
	// Entries bounds the number of entries.
	Entries int
}

// DefaultLimits are far above what model repositories contain.
func DefaultLimits() Limits { return Limits{Bytes: 256 << 30, Entries: 1_000_000} }

// Content identifies the content of a file.
type Content struct {
	Size   int64
	Digest string // SHA-256, lower-case hex
	Origin Origin
}

// Origin says where a file was read.
type Origin struct {
	Archive int // the number of the archive, layer or file in the tree, from 1
	Name    string
}

// Keep reads the content of a file and keeps it. It returns errors of the reader as they are.
type Keep func(ctx context.Context, at Origin, from io.Reader) (Content, error)

// File is a file of an archive. A name that ends in a slash is an empty folder.
type File struct {
	Name string // relative, clean, with slashes
	Content
}

// Tree is the content of one archive, or of the layers of one image. It is used by one goroutine.
type Tree struct {
	keep   Keep
	limits Limits
	within string // the folder that is kept, clean; "": all
	top    *node
	layer  int // of the entries that are read now, from 1

	counter
	read int64 // bytes of streams that were read
	kept int64 // bytes of files; more than read, where files are sparse
}

// New returns an empty tree. Of the archives that it reads, it has only the content of the folder
// within; "" keeps everything.
func New(within string, limits Limits, keep Keep) (*Tree, error) {
	clean, err := localName(within, true)
	if err != nil {
		return nil, fmt.Errorf("the folder %q in the archive %w", within, err)
	}
	return &Tree{keep: keep, limits: limits, within: clean, top: &node{kind: folder}}, nil
}

// Files returns all files, sorted by name. A link is returned as the files that it leads to.
func (t *Tree) Files() ([]File, error) {
	l := lister{tree: t}
	if err := l.folder("", t.top); err != nil {
		return nil, err
	}
	return l.files, nil
}

// counter bounds the memory that entries take.
type counter struct {
	entries int
	names   int64 // bytes of their names
}

// nameBytes is how long the names of all entries may be on average.
const nameBytes = 256

// count counts an entry.
func (t *Tree) count(name string) error { return t.add(name, t.limits) }

func (c *counter) add(name string, limits Limits) error {
	c.entries++
	c.names += int64(len(name))
	switch most := int64(limits.Entries) * nameBytes; {
	case c.entries > limits.Entries:
		return fmt.Errorf("%w: it has more than %d entries, the limit", ErrRefused, limits.Entries)
	case c.names > most:
		return fmt.Errorf("%w: the names of its entries have more than %d bytes, the limit", ErrRefused, most)
	}
	return nil
}

// lister lists the files of a tree. Links make it longer than the archive.
type lister struct {
	tree *Tree
	counter
	files []File
	open  []*node // the folders around the current entry: a link to one of them would be endless
}

func (l *lister) folder(name string, n *node) error {
	if slices.Contains(l.open, n) {
		return refuse(name, "is a link to a folder around it")
	}
	if len(l.open) > maxDepth {
		return refuse(name, "is nested too deep")
	}
	if len(n.children) == 0 && name != "" {
		return l.add(File{Name: name + "/"})
	}
	l.open = append(l.open, n)
	for _, base := range slices.Sorted(maps.Keys(n.children)) {
		if err := l.entry(strings.TrimPrefix(name+"/"+base, "/"), n.children[base]); err != nil {
			return err
		}
	}
	l.open = l.open[:len(l.open)-1]
	return nil
}

func (l *lister) entry(name string, n *node) error {
	if n.kind == link {
		to := l.tree.follow(n)
		if to == nil {
			return refuse(name, "is a link to %q, which leads to nothing that is kept", shorten(n.target))
		}
		n = to
	}
	if n.kind == folder {
		return l.folder(name, n)
	}
	return l.add(File{name, n.content})
}

func (l *lister) add(f File) error {
	if err := l.counter.add(f.Name, l.tree.limits); err != nil {
		return err
	}
	l.files = append(l.files, f)
	return nil
}

// refuse returns an error about an entry.
func refuse(name, format string, args ...any) error {
	return fmt.Errorf("%w: entry %q %s", ErrRefused, shorten(name), fmt.Sprintf(format, args...))
}

func shorten(name string) string {
	if len(name) > 200 {
		return name[:200] + "…"
	}
	return name
}

func (t *Tree) tooLarge() error {
	return fmt.Errorf("%w: unpacked it has more than %d bytes, the limit", ErrRefused, t.limits.Bytes)
}
