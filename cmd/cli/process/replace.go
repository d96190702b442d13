package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ReplaceFile gives a file of a user a new content, all of it or nothing: readers, such as a server
// that polls its repository, never see a part, and a full disk leaves the former content. The file
// keeps its permissions and its owner, and a symbolic link stays one.
func ReplaceFile(name string, content []byte) error {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	probe, err := os.OpenFile(path, os.O_WRONLY, 0) // a file that may not be written is not replaced
	if err != nil {
		return err
	}
	if err := probe.Close(); err != nil {
		return err
	}
	return replace(path, info, content)
}

func replace(path string, former fs.FileInfo, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".triton-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = keepOwner(f, former)
	}
	if err == nil {
		err = f.Chmod(former.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
