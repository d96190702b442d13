package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
)

// layer is a folder as a compressed tar file.
type layer struct {
	compressed []byte
	diffID     digest.Digest // of the tar file
	size       int64         // of the tar file
}

// newLayer packs a folder. Modes are 0755 for folders and programs and 0644 for other files:
// those on disk depend on the user's mask.
func newLayer(folder string, modified time.Time) (layer, error) {
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return layer{}, err
	}
	hash := sha256.New()
	counted := &counter{}
	out := tar.NewWriter(io.MultiWriter(zip, hash, counted))
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // in lexical order
		if err != nil || path == folder {
			return err
		}
		if err := addEntry(out, folder, path, d, modified); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
	if err := errors.Join(err, out.Close(), zip.Close()); err != nil {
		return layer{}, err
	}
	return layer{packed.Bytes(), digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(hash.Sum(nil))), counted.n}, nil
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

func addEntry(out *tar.Writer, folder, path string, d fs.DirEntry, modified time.Time) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return err
	}
	header := &tar.Header{Name: filepath.ToSlash(name), ModTime: modified, Mode: 0o644}
	switch {
	case info.IsDir():
		header.Typeflag, header.Name, header.Mode = tar.TypeDir, header.Name+"/", 0o755
		if info.Mode()&fs.ModeSticky != 0 { // /tmp
			header.Mode = 0o1777
		}
		return out.WriteHeader(header)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, target, 0o777
		return out.WriteHeader(header)
	case !info.Mode().IsRegular():
		return fmt.Errorf("is neither a file nor a folder nor a link: %v", info.Mode())
	}
	if info.Mode()&0o111 != 0 {
		header.Mode = 0o755
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(out, f)
	return err
}
