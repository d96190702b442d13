package unpack

import (
	"archive/zip"
	"context"
	"io"
	"io/fs"
	"os"
	"strings"
)

// encrypted is the bit of a zip entry's flags that says so.
const encrypted = 1

// zip reads a zip archive.
func (t *Tree) zip(ctx context.Context, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := zip.NewReader(f, info.Size())
	if err != nil {
		return broken(err)
	}
	for _, e := range r.File {
		if err := t.count(e.Name); err != nil {
			return err
		}
		if err := t.zipEntry(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) zipEntry(ctx context.Context, e *zip.File) error {
	full, err := localName(e.Name, false)
	if err != nil {
		return refuse(e.Name, "%s", err)
	}
	name, inside := t.below(full)
	if !inside {
		return nil
	}
	mode := e.Mode()
	switch {
	case mode.IsDir() || strings.HasSuffix(e.Name, "/"):
		return t.placeFolder(name)
	case mode.Type() != 0 && mode.Type() != fs.ModeSymlink:
		return refuse(e.Name, "is a device, a pipe or of another type that models do not need")
	case e.Flags&encrypted != 0:
		return refuse(e.Name, "is encrypted")
	}
	from, err := e.Open()
	if err != nil {
		return broken(err)
	}
	defer from.Close()
	if mode.Type() == fs.ModeSymlink {
		target, err := io.ReadAll(io.LimitReader(from, maxName+1))
		if err != nil {
			return broken(err)
		}
		return t.symlink(name, string(target), false)
	}
	return t.addFile(ctx, name, from)
}
