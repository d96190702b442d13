package unpack

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Archive reads an archive: tar, plain or compressed by gzip or zstd, or zip.
func (t *Tree) Archive(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	magic := make([]byte, len(zipMagic))
	if _, err := f.ReadAt(magic, 0); err == nil && bytes.Equal(magic, zipMagic) {
		t.layer++
		return t.zip(ctx, f)
	}
	return t.tar(ctx, f, false)
}

// Layer reads a layer of an image: a tar archive whose entries replace or remove those of the layers
// before it.
func (t *Tree) Layer(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return t.tar(ctx, f, true)
}

// Add adds a file that is not in an archive, and whose content is kept already.
func (t *Tree) Add(name string, c Content) error {
	t.layer++
	if err := t.count(name); err != nil {
		return err
	}
	full, err := localName(name, false)
	if err != nil {
		return refuse(name, "%s", err)
	}
	below, inside := t.below(full)
	switch {
	case !inside:
		return nil
	case t.find(below) != nil:
		return refuse(name, "is there twice")
	}
	return t.place(below, &node{kind: file, content: c})
}

func (t *Tree) tar(ctx context.Context, f io.Reader, image bool) error {
	t.layer++
	text, done, err := decompress(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return err
	}
	defer done()
	whole := &stream{ctx, t, text}
	r := tar.NewReader(whole)
	for first := true; ; first = false {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			_, err = io.Copy(io.Discard, whole) // the end has the checksum of the compression
			return broken(err)
		case errors.Is(err, tar.ErrHeader) && first:
			return fmt.Errorf("%w: it is no archive (tar, tar.gz, tar.zst or zip)", ErrRefused)
		case err != nil:
			return broken(err)
		}
		if err := t.count(h.Name + h.Linkname); err != nil {
			return err
		}
		if err := t.tarEntry(ctx, h, r, image); err != nil {
			return err
		}
	}
}
