// The source of model repositories that are one archive on a web server: https://host/models.tar.gz, and
// tar, tar.zst and zip. The archive is downloaded and unpacked once for each version of it; polls ask
// only whether it was changed.

package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
)

func openArchive(path string, env Env, o Options) (Source, error) {
	at, err := parseArchive(path)
	if err != nil {
		return nil, err
	}
	s := &archiveSource{at: at, opts: o, env: env, client: newWebClient()}
	s.packed = &packedRepository{Env: env, Parts: archiveBlob{s}, Limits: o.Limits}
	return s, nil
}

type archiveSource struct {
	at     archiveLocation
	opts   Options
	env    Env
	client *http.Client
	packed *packedRepository
}

// List returns the files of the archive.
func (s *archiveSource) List(ctx context.Context) ([]Object, error) {
	o := Object{Name: s.at.String(), Digest: s.at.digest}
	ranges := true
	if o.Digest == "" { // else its content is known without a request
		var err error
		if o, ranges, err = s.probe(ctx); err != nil {
			return nil, err
		}
	}
	return s.packed.List(ctx, packedVersion{
		ID: s.id(o),
		Contents: func(ctx context.Context) (contents, error) {
			var err error
			if s.at.digest != "" {
				if o, ranges, err = s.probe(ctx); err != nil {
					return contents{}, err
				}
			}
			if !ranges {
				if o, err = s.whole(ctx, o); err != nil {
					return contents{}, err
				}
			}
			return contents{Parts: []part{{Object: o, Kind: partArchive}}, Within: s.at.within}, nil
		},
		Check: s.check,
	})
}

// id identifies the content of an archive, the key that its signature was checked with, and its
// folder. The cache keeps it as it is.
func (s *archiveSource) id(o Object) string {
	content := "sha256:" + o.Digest
	if o.Digest == "" {
		content = fmt.Sprintf("%s size %d tag %s", s.at.identity(), o.Size, o.Tag)
	}
	return fmt.Sprintf("archive %s key %s folder %s", content, s.opts.Key.ID(), s.at.within)
}

// probe asks for the state of the archive, and for the checksum beside it unless the path has one.
func (s *archiveSource) probe(ctx context.Context) (o Object, ranges bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.url.String(), nil)
	if err != nil {
		return o, false, err
	}
	o = Object{Name: s.at.String(), Digest: s.at.digest}
	if o.Size, o.Tag, ranges, err = probe(s.client, r); err != nil {
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
func (s *archiveSource) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
	return s.packed.Open(ctx, name, tag, offset, length)
}

func (s *archiveSource) String() string { return s.at.String() }

// Close closes idle connections.
func (s *archiveSource) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// archiveBlob is the source of the archive itself.
type archiveBlob struct{ *archiveSource }

// String names the archive in the keys of the cache.
func (b archiveBlob) String() string { return b.at.identity() }

func (b archiveBlob) List(context.Context) ([]Object, error) { return nil, errors.ErrUnsupported }

func (b archiveBlob) Open(ctx context.Context, _, tag string, offset, length int64) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.at.url.String(), nil)
	if err != nil {
		return nil, err
	}
	return getRange(b.client, r, offset, length, tag)
}

// whole downloads an archive from a server that sends no ranges, in one piece.
func (s *archiveSource) whole(ctx context.Context, o Object) (Object, error) {
	f, err := intact(func() (*File, error) {
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
func (s *archiveSource) copy(ctx context.Context, o Object, to io.Writer) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.url.String(), nil)
	if err != nil {
		return err
	}
	body, tag, err := getWhole(s.client, r)
	if err != nil {
		return err
	}
	defer body.Close()
	if o.Tag != tag {
		return ErrChanged
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
		return fmt.Errorf("%w: SHA-256 %s instead of %s", ErrContent, digest, o.Digest)
	}
	return nil
}
