package python

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"triton/pkg/status"
)

// unpacked returns the folder with the content of an archive. Archives of the same
// content share it.
func (s *environmentStore) unpacked(ctx context.Context, o environmentOptions, archive string) (string, error) {
	dir, err := environmentCache(o)
	if err != nil {
		return "", err
	}
	sum, err := s.sum(ctx, archive)
	if err != nil {
		return "", status.New(status.Internal, "reading the execution environment %s: %w", archive, err)
	}
	return cacheEntry(ctx, dir, "archive-"+sum, func(dir string, _ *os.File) error {
		o.Log.Info("unpacking a Python execution environment", slog.String("archive", archive), slog.String("folder", dir))
		if err := unpackArchive(ctx, archive, dir); err != nil {
			return status.New(status.Internal, "unpacking the execution environment %s: %w", archive, err)
		}
		return nil
	})
}

// archiveVersion is one content of a file.
type archiveVersion struct {
	path string
	size int64
	time time.Time
}

// sum returns a digest of a file's content. It is computed once for each version of
// the file.
func (s *environmentStore) sum(ctx context.Context, file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	v := archiveVersion{file, info.Size(), info.ModTime()}
	if known, ok := s.sums.Load(v); ok {
		return known.(string), nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, &canceled{ctx, f}); err != nil {
		return "", err
	}
	text := hex.EncodeToString(h.Sum(nil)[:16])
	s.sums.Store(v, text)
	return text, nil
}

// canceled is a reader that ends with a context.
type canceled struct {
	ctx context.Context
	io.Reader
}

func (c *canceled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}

// unpackArchive extracts a tar archive, plain or compressed by gzip, into a folder. Nothing is
// written outside of it.
func unpackArchive(ctx context.Context, archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	into, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer into.Close()
	in := bufio.NewReaderSize(&canceled{ctx, f}, 1<<20)
	var text io.Reader = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if text, err = gzip.NewReader(in); err != nil {
			return err
		}
	}
	for t := tar.NewReader(text); ; {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, tar.ErrHeader):
			return fmt.Errorf("it is not a tar archive, plain or compressed by gzip: %w", err)
		case err != nil:
			return err
		}
		if err := extractEntry(into, h, t); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// extractEntry writes one entry.
func extractEntry(into *os.Root, h *tar.Header, data io.Reader) error {
	name, err := localName(h.Name)
	if err != nil || name == "." {
		return err
	}
	mode := fs.FileMode(h.Mode) & 0o777
	if h.Typeflag == tar.TypeDir {
		return into.MkdirAll(name, mode|0o700)
	}
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	if err := into.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := into.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return writeEntry(into, name, mode, h.ModTime, data)
	case tar.TypeSymlink:
		return into.Symlink(h.Linkname, name)
	case tar.TypeLink:
		to, err := localName(h.Linkname)
		if err != nil {
			return err
		}
		return into.Link(to, name)
	}
	return fmt.Errorf("entries of type %q are not extracted", h.Typeflag)
}

// localName returns the path of an entry below the archive's root.
func localName(name string) (string, error) {
	switch {
	case filepath.IsAbs(name):
		return "", errors.New("Path is absolute") //nolint:staticcheck // the text of libarchive
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "", errors.New("Path contains '..'") //nolint:staticcheck // the text of libarchive
	}
	return path.Clean(name), nil
}

// writeEntry writes a file. Its time is kept, because compiled modules hold that of their
// source.
func writeEntry(into *os.Root, name string, mode fs.FileMode, at time.Time, data io.Reader) error {
	f, err := into.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return into.Chtimes(name, at, at)
}
