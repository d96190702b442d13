// What archives, images and artifacts contain becomes objects here. What is inside of an archive is
// unpacked into the local cache once; after a restart the list of it is read from the cache, without a
// request.

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"triton/server/store/remote/unpack"
)

// partKind says what a part of a repository is.
type partKind string

// Kinds of parts.
const (
	partArchive partKind = "archive" // tar, tar.gz, tar.zst or zip
	partLayer   partKind = "layer"   // of an image: a tar archive that changes the layers before it
	partPlain   partKind = "file"    // a file of the repository
)

// part is a remote object that a repository consists of.
type part struct {
	Object Object
	Kind   partKind
	Path   string // in the repository; of a plain file
}

// contents are the parts of a version.
type contents struct {
	Parts []part // in the order in which they are read
	// Within is the folder in them that is the repository; empty: all.
	Within string
}

// packedVersion is one state of a repository.
type packedVersion struct {
	// ID identifies the content of all parts, and what they were checked with. The content of an
	// ID never changes.
	ID string
	// Contents finds the parts. It is called when the cache does not know the version.
	Contents func(ctx context.Context) (contents, error)
	// Check checks a part that was downloaded, before it is read; nil: nothing is checked.
	Check func(ctx context.Context, f *File) error
}

// packedRepository has the objects of one version at a time. Its methods may be called at the same time.
type packedRepository struct {
	// Env is the cache. Parts are the source of the parts.
	Env    Env
	Parts  Source
	Limits unpack.Limits

	mu      sync.Mutex
	current *packedIndex
}

// packedIndex is what the cache keeps of a version.
type packedIndex struct {
	ID string
	contents
	Files []unpack.File

	byName map[string]int // in Files
}

// List returns the objects of a version, which becomes the current one.
func (r *packedRepository) List(ctx context.Context, v packedVersion) ([]Object, error) {
	x, err := r.index(ctx, v)
	if err != nil {
		return nil, err
	}
	all := make([]Object, 0, len(x.Files))
	for _, f := range x.Files {
		all = append(all, Object{Name: f.Name, Size: f.Size, Tag: f.Digest, Digest: f.Digest})
	}
	return all, nil
}

// packedKey returns the key of a version's file in the cache; "" is its index.
func packedKey(id, file string) string {
	return fmt.Sprintf("packed\n%s\n%s", id, file)
}

// index returns the index of a version: from memory, from the cache, or from the parts.
func (r *packedRepository) index(ctx context.Context, v packedVersion) (*packedIndex, error) {
	r.mu.Lock()
	x := r.current
	r.mu.Unlock()
	if x != nil && x.ID == v.ID {
		return x, nil
	}
	f, err := r.Env.Make(ctx, packedKey(v.ID, ""), func(ctx context.Context, to io.Writer) error { return r.build(ctx, v, to) })
	if err != nil {
		return nil, err
	}
	defer f.Free()
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, err
	}
	x = &packedIndex{byName: map[string]int{}}
	if err := json.Unmarshal(text, x); err != nil {
		return nil, fmt.Errorf("reading the list of files from the cache: %w", err)
	}
	for i, f := range x.Files {
		x.byName[f.Name] = i
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = x
	return x, nil
}

// build reads all parts and writes the index.
func (r *packedRepository) build(ctx context.Context, v packedVersion, to io.Writer) error {
	in, err := v.Contents(ctx)
	if err != nil {
		return err
	}
	x := packedIndex{ID: v.ID, contents: in}
	tree, err := unpack.New(x.Within, r.Limits, func(ctx context.Context, at unpack.Origin, from io.Reader) (unpack.Content, error) {
		f, err := r.Env.Make(ctx, packedKey(v.ID, originKey(at)), fillOnce(from))
		if err != nil {
			return unpack.Content{}, err
		}
		defer f.Free()
		return unpack.Content{Size: f.Size, Digest: f.Digest, Origin: at}, nil
	})
	if err != nil {
		return err
	}
	if err := r.read(ctx, tree, x.Parts, v.Check); err != nil {
		return err
	}
	if x.Files, err = tree.Files(); err != nil {
		return err
	}
	if len(x.Files) == 0 {
		return fmt.Errorf("%w: there are no files in it%s", ErrNotFound, inFolder(x.Within))
	}
	return json.NewEncoder(to).Encode(x)
}

func inFolder(within string) string {
	if within == "" {
		return ""
	}
	return " below /" + within
}

func originKey(at unpack.Origin) string { return fmt.Sprintf("%d/%s", at.Archive, at.Name) }

// fillOnce returns a fill of the cache from a reader, which can be read only once.
func fillOnce(from io.Reader) func(ctx context.Context, to io.Writer) error {
	var last error
	return func(_ context.Context, to io.Writer) error {
		if last != nil {
			return last
		}
		_, last = io.Copy(to, from)
		if last == nil {
			last = errors.New("the content was read already")
			return nil
		}
		return last
	}
}

// read reads parts into a tree.
func (r *packedRepository) read(ctx context.Context, tree *unpack.Tree, parts []part, check func(ctx context.Context, f *File) error) error {
	for i, p := range parts {
		if err := r.readPart(ctx, tree, i, p, check); err != nil {
			return fmt.Errorf("%s: %w", p.Object.Name, err)
		}
	}
	return nil
}

func (r *packedRepository) readPart(ctx context.Context, tree *unpack.Tree, i int, p part, check func(ctx context.Context, f *File) error) error {
	if p.Kind == partPlain {
		return tree.Add(p.Path, unpack.Content{Size: p.Object.Size, Digest: p.Object.Digest, Origin: unpack.Origin{Archive: i + 1}})
	}
	f, err := intact(func() (*File, error) { return r.Env.Fetch(ctx, r.Parts, p.Object) })
	if err != nil {
		return err
	}
	defer f.Free()
	if check != nil {
		if err := check(ctx, f); err != nil {
			return err
		}
	}
	if p.Kind == partLayer {
		return tree.Layer(ctx, f.Path)
	}
	return tree.Archive(ctx, f.Path)
}

// maxDamaged bounds the downloads of content that has another checksum than announced.
const maxDamaged = 3

// intact downloads content again if it has another checksum than announced, which may be the fault
// of the network, and refuses it if that does not help.
func intact(get func() (*File, error)) (f *File, err error) {
	for range maxDamaged {
		if f, err = get(); !errors.Is(err, ErrContent) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrRefused, err)
}
