package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// maxBesides bounds the files beside an archive.
const maxBesides = 64 << 10

func (s *archiveSource) small(ctx context.Context, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	text, _, err := getSmall(s.client, r, maxBesides)
	return text, err
}

// checksum returns the SHA-256 in the file beside the archive; empty: there is no such file.
func (s *archiveSource) checksum(ctx context.Context) (string, error) {
	text, err := s.small(ctx, s.at.beside(".sha256"))
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrDenied): // stores that list nothing deny what is not there
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading the checksum: %w", err)
	}
	digest := findDigest(string(text), path.Base(s.at.url.Path))
	if digest == "" {
		return "", fmt.Errorf("%w: %s.sha256 has no SHA-256 of the archive, as sha256sum writes it", ErrRefused, s.at)
	}
	return digest, nil
}

// findDigest returns the digest of a file from the output of sha256sum or of shasum --tag, or a
// digest that is alone.
func findDigest(text, name string) string {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if rest, tagged := strings.CutPrefix(line, "SHA256 ("); tagged {
			file, digest, _ := strings.Cut(rest, ") = ")
			fields = []string{strings.TrimSpace(digest), file}
		}
		if len(fields) == 0 || !isSHA256(fields[0]) {
			continue
		}
		if len(fields) == 1 || path.Base(strings.TrimPrefix(fields[1], "*")) == name {
			return strings.ToLower(fields[0])
		}
	}
	return ""
}

// check verifies the signature beside the archive.
func (s *archiveSource) check(ctx context.Context, f *File) error {
	if s.opts.Key == nil {
		return nil
	}
	text, err := s.small(ctx, s.at.beside(".sig"))
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrDenied):
		return fmt.Errorf("%w: a public key is set, and there is no signature %s.sig", ErrRefused, s.at)
	case err != nil:
		return fmt.Errorf("reading the signature: %w", err)
	}
	if err := s.opts.Key.Verify(f.Digest, text); err != nil {
		return fmt.Errorf("%w: %s.sig: %w", ErrRefused, s.at, err)
	}
	return nil
}
