package remotetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync/atomic"
	"testing/iotest"

	"triton/server/store/remote"
)

// Source is a source of the objects of a bucket below a prefix.
type Source struct {
	*Bucket
	Path string
	// Digests makes listings have digests.
	Digests atomic.Bool
	// Down, if set, is the error of all requests; Gate, if set, is called before each listing.
	Down atomic.Pointer[error]
	Gate atomic.Pointer[func(ctx context.Context) error]
}

// Break makes all requests fail with an error; nil ends that.
func (s *Source) Break(err error) {
	if err == nil {
		s.Down.Store(nil)
		return
	}
	s.Down.Store(&err)
}

// String returns the path.
func (s *Source) String() string { return s.Path }

// List returns all objects.
func (s *Source) List(ctx context.Context) ([]remote.Object, error) {
	if gate := s.Gate.Load(); gate != nil {
		if err := (*gate)(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.Down.Load(); err != nil {
		return nil, *err
	}
	all, _ := s.list("", "", -1)
	var out []remote.Object
	for _, o := range all {
		next := remote.Object{Name: o.name, Size: int64(len(o.text)), Tag: o.tag(), MD5: o.etag()}
		if s.Digests.Load() {
			sum := sha256.Sum256(o.text)
			next.Digest = hex.EncodeToString(sum[:])
		}
		out = append(out, next)
	}
	return out, ctx.Err()
}

var errCut = errors.New("the connection was cut")

// Open reads a range.
func (s *Source) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
	if err := s.Down.Load(); err != nil {
		return nil, *err
	}
	e, found := s.get(name)
	switch {
	case !found:
		return nil, remote.ErrNotFound
	case e.tag() != tag:
		return nil, remote.ErrChanged
	}
	f := s.begin(name, offset, length)
	switch {
	case f.Status != 0:
		return nil, errors.New("the store answered an error")
	case f.Hang:
		return hanging{ctx}, nil
	}
	text := f.change(e.text[offset : offset+length])
	if f.Cut >= 0 && f.Cut < int64(len(text)) {
		s.count(int(f.Cut))
		return io.NopCloser(io.MultiReader(bytes.NewReader(text[:f.Cut]), broken{})), nil
	}
	s.count(len(text))
	return io.NopCloser(iotest.HalfReader(bytes.NewReader(text))), nil // in several reads
}

// change returns content as a fault changes it.
func (f *Fetch) change(text []byte) []byte {
	text = append(bytes.Clone(text), make([]byte, f.Extra)...)
	if f.Flip && len(text) > 0 {
		text[0] ^= 1
	}
	return text
}

type broken struct{}

// Read fails.
func (broken) Read([]byte) (int, error) { return 0, errCut }

type hanging struct{ ctx context.Context }

// Read waits.
func (h hanging) Read([]byte) (int, error) {
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

// Close does nothing.
func (hanging) Close() error { return nil }
