// Package replacefile replaces files so that readers see the former content or the new one, but never a part of it.
package replacefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write gives a file a mode and the content that write writes: to a hidden file in the same folder, which takes the
// place of the former one when it is complete. After an error the former one stays.
func Write(path string, mode fs.FileMode, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".triton-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// Text gives a file a mode and a text, which is on the disk when Text returns.
func Text(path string, mode fs.FileMode, text []byte) error {
	return Write(path, mode, func(f *os.File) error {
		_, err := f.Write(text)
		return errors.Join(err, f.Sync())
	})
}
