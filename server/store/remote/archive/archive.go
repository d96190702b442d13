// Package archive is the remote.Source of model repositories that are one archive on a web server:
// https://host/models.tar.gz, and tar, tar.zst and zip. The archive is downloaded and unpacked once
// for each version of it; polls ask only whether it was changed.
package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	"triton/server/store/filecache"
	"triton/server/store/remote"
	"triton/server/store/remote/packed"
	"triton/server/store/remote/signature"
	"triton/server/store/remote/unpack"
	"triton/server/store/remote/webget"
)

// Options configure the sources.
type Options struct {
	// Key refuses archives without its signature in a file of the same name with the ending .sig;
	// nil: signatures are not checked.
	Key    *signature.Key
	Limits unpack.Limits
}

// Opener returns the opener of the schemes http and https.
func Opener(o Options) remote.Opener {
	return func(path string, env remote.Env) (remote.Source, error) {
		at, err := parse(path)
		if err != nil {
			return nil, err
		}
		s := &source{at: at, opts: o, env: env, client: webget.NewClient()}
		s.packed = &packed.Repository{Env: env, Parts: blob{s}, Limits: o.Limits}
		return s, nil
	}
}

type source struct {
	at     location
	opts   Options
	env    remote.Env
	client *http.Client
	packed *packed.Repository
}

// List returns the files of the archive.
func (s *source) List(ctx context.Context) ([]remote.Object, error) {
	o := remote.Object{Name: s.at.String(), Digest: s.at.digest}
	ranges := true
	if o.Digest == "" { // else its content is known without a request
		var err error
		if o, ranges, err = s.probe(ctx); err != nil {
			return nil, err
		}
	}
	return s.packed.List(ctx, packed.Version{
		ID: s.id(o),
		Contents: func(ctx context.Context) (packed.Contents, error) {
			var err error
			if s.at.digest != "" {
				if o, ranges, err = s.probe(ctx); err != nil {
					return packed.Contents{}, err
				}
			}
			if !ranges {
				if o, err = s.whole(ctx, o); err != nil {
					return packed.Contents{}, err
				}
			}
			return packed.Contents{Parts: []packed.Part{{Object: o, Kind: packed.Archive}}, Within: s.at.within}, nil
		},
		Check: s.check,
	})
}

// id identifies the content of an archive, the key that its signature was checked with, and its
// folder. The cache keeps it as it is.
func (s *source) id(o remote.Object) string {
	content := "sha256:" + o.Digest
	if o.Digest == "" {
		content = fmt.Sprintf("%s size %d tag %s", s.at.identity(), o.Size, o.Tag)
	}
	return fmt.Sprintf("archive %s key %s folder %s", content, s.opts.Key.ID(), s.at.within)
}

// probe asks for the state of the archive, and for the checksum beside it unless the path has one.
func (s *source) probe(ctx context.Context) (o remote.Object, ranges bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.url.String(), nil)
	if err != nil {
		return o, false, err
	}
	o = remote.Object{Name: s.at.String(), Digest: s.at.digest}
	if o.Size, o.Tag, ranges, err = webget.Probe(s.client, r); err != nil {
		return o, false, err
	}
	if o.Digest == "" {
		if o.Digest, err = s.checksum(ctx); err != nil {
			return o, false, err
		}
	}
	if o.Digest == "" && o.Tag == "" {
		s.env.Log.Warn("the server of an archive tells neither ETag nor Last-Modified: changes that keep its size are not seen; put a .sha256 file beside it", "archive", o.Name)
	}
	return o, ranges, nil
}

// Open reads a file that the cache has removed.
func (s *source) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
	return s.packed.Open(ctx, name, tag, offset, length)
}

func (s *source) String() string { return s.at.String() }

// Close closes idle connections.
func (s *source) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// blob is the source of the archive itself.
type blob struct{ *source }

// String names the archive in the keys of the cache.
func (b blob) String() string { return b.at.identity() }

func (b blob) List(context.Context) ([]remote.Object, error) { return nil, errors.ErrUnsupported }

func (b blob) Open(ctx context.Context, _, tag string, offset, length int64) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.at.url.String(), nil)
	if err != nil {
		return nil, err
	}
	return webget.Range(b.client, r, offset, length, tag)
}

// whole downloads an archive from a server that sends no ranges, in one piece.
func (s *source) whole(ctx context.Context, o remote.Object) (remote.Object, error) {
	f, err := packed.Intact(func() (*remote.File, error) {
		return s.env.Make(ctx, "whole\n"+s.id(o), func(ctx context.Context, to io.Writer) error { return s.copy(ctx, o, to) })
	})
	if err != nil {
		return o, err
	}
	defer f.Free()
	o.Size, o.Digest = f.Size, f.Digest // the cache has it by now
	return o, nil
}

// copy writes the archive, and compares its size and checksum.
func (s *source) copy(ctx context.Context, o remote.Object, to io.Writer) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.url.String(), nil)
	if err != nil {
		return err
	}
	body, tag, err := webget.Whole(s.client, r)
	if err != nil {
		return err
	}
	defer body.Close()
	if o.Tag != tag {
		return remote.ErrChanged
	}
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(to, hash), body)
	digest := hex.EncodeToString(hash.Sum(nil))
	switch {
	case err != nil:
		return err
	case o.Digest == "" && o.Size >= 0 && size != o.Size: // one of the two answers was wrong
		return fmt.Errorf("%d bytes arrived instead of %d", size, o.Size)
	case o.Digest != "" && digest != o.Digest:
		return fmt.Errorf("%w: SHA-256 %s instead of %s", filecache.ErrContent, digest, o.Digest)
	}
	return nil
}
