// Package remote reads repository paths on other machines: a Source lists objects and reads ranges of
// them, and Schemes opens the Source of a path. There is one for each protocol: S3, Google Cloud
// Storage, Azure, archives on web servers, and container registries. It keeps nothing; package mirror
// does.
package remote

import (
	"context"
	"io"
	"log/slog"
	"time"
)

// Object is one file below a remote path.
type Object struct {
	// Name is relative to the path, with slashes. A name that ends in a slash marks a folder that
	// may be empty. Sources pass on the names that they get; whoever writes files checks them.
	Name string
	Size int64
	// Tag differs after each change of the content: an ETag, a generation, a digest. It is opaque.
	Tag string
	// Digest is the SHA-256 of the content in lower-case hex, if the source knows it without
	// reading the content; else empty.
	Digest string
	// MD5 is the MD5 of the content in lower-case hex, if the source knows it; else empty. It finds
	// damage on the way, and proves nothing else.
	MD5      string
	Modified time.Time
}

// Source is a remote repository path: a tree of objects whose top-level folders are models. Its
// methods may be called at the same time and end with their context. Their errors wrap one of the
// errors of this package if it applies; a call that failed with another error may be repeated.
type Source interface {
	// List returns all objects below the path, in any order. It returns all of them or an
	// error: a path that does not exist is ErrNotFound where the source can tell it from an
	// empty one.
	List(ctx context.Context) ([]Object, error)
	// Open reads length bytes from an offset of the content that has the tag. It returns
	// ErrChanged if the object has other content by now.
	Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error)
	// String returns the path as the user wrote it, without secrets.
	String() string
}

// Closer is a Source that holds resources until it is closed.
type Closer interface {
	Source
	Close() error
}

// Env is what sources get from the process.
type Env struct {
	// Getenv returns a variable of the environment.
	Getenv func(name string) string
	// Log gets warnings of sources; never nil.
	Log *slog.Logger
	// Fetch downloads the whole content of an object into the local cache, in parallel ranges
	// with retries, and returns a file that stays until it is released. It is for sources that
	// need local bytes before they can list, such as archives.
	Fetch func(ctx context.Context, from Source, o Object) (*File, error)
	// Make returns content that is made on this machine, such as a file of an archive: what the
	// cache has under the key, or else what fill writes. The content of a key never changes. Of
	// several callers for a key, in all processes, one fills and the others wait.
	Make func(ctx context.Context, key string, fill func(ctx context.Context, to io.Writer) error) (*File, error)
}

// File is a local file with the content of an object. The caller must not write to it.
type File struct {
	Path   string
	Size   int64
	Digest string // SHA-256, lower-case hex
	Free   func()
}
