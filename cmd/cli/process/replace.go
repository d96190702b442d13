package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"triton/pkg/replacefile"
)

// ReplaceFile gives a file of a user a new content, all of it or nothing: readers, such as a server
// that polls its repository, never see a part, and a full disk leaves the former content. The file
// keeps its permissions and its owner, and a symbolic link stays one.
func ReplaceFile(name string, content []byte) error {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	probe, err := os.OpenFile(path, os.O_WRONLY, 0) // a file that may not be written is not replaced
	if err != nil {
		return err
	}
	info, err := probe.Stat()
	if err := errors.Join(err, probe.Close()); err != nil {
		return err
	}
	return replace(path, info, info.Mode().Perm(), content)
}

// PutFile gives a file a new content as ReplaceFile does, or creates it with a mode. A link is replaced itself.
func PutFile(path string, mode fs.FileMode, content []byte) error {
	former, err := os.Stat(path)
	if err != nil {
		return replace(path, nil, mode, content)
	}
	return replace(path, former, former.Mode().Perm(), content)
}

// replace writes a file in place of another one; former is nil if there is none.
func replace(path string, former fs.FileInfo, mode fs.FileMode, content []byte) error {
	return replacefile.Write(path, mode, func(f *os.File) error {
		_, err := f.Write(content)
		if err == nil && former != nil {
			err = keepOwner(f, former)
		}
		return errors.Join(err, f.Sync())
	})
}
