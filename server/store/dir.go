package store

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"triton/pkg/status"
)

// dir is a repository path on this machine.
type dir string

// OpenDir returns the place of a local directory, which need not exist yet.
func OpenDir(path string) (Place, error) { return dir(path), nil }

// Check returns an error if the path is not a directory.
func (d dir) Check(context.Context) error {
	info, err := os.Stat(string(d))
	switch {
	case err != nil:
		return status.New(status.Internal, "failed to stat file %s", string(d))
	case !info.IsDir():
		return status.New(status.InvalidArg, "repository path is not a valid directory")
	}
	return nil
}

// List ignores files, follows links, and treats hidden directories like others.
func (d dir) List(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, fmt.Errorf("reading model repository: %w", err)
	}
	var all []string
	for _, e := range entries {
		if leadsToDir(e, d.Location(e.Name())) {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

// Location returns the path of a folder.
func (d dir) Location(folder string) string { return filepath.Join(string(d), folder) }

// Stamp returns when each entry of the folder was changed last. It is nil if the folder cannot be
// read.
func (d dir) Stamp(ctx context.Context, folder string) (Stamp, error) {
	return ReadStamp(d.Location(folder)), ctx.Err()
}

// Fetch returns the folder itself, with all versions.
func (d dir) Fetch(ctx context.Context, folder, _ string) (*Folder, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return NewFolder(d.Location(folder), nil), nil
}

// Close does nothing.
func (dir) Close() error { return nil }

// leadsToDir reports whether an entry is a directory or a link to one.
func leadsToDir(e fs.DirEntry, path string) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	return isDir(path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
