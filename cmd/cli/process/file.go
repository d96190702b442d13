package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile creates or truncates a file, lets write fill it and closes it.
func WriteFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// CheckWritable returns an error that says why WriteFile cannot write a file. It changes
// nothing.
func CheckWritable(name string) error {
	switch info, err := os.Stat(name); {
	case err == nil && info.IsDir():
		return fmt.Errorf("cannot write %s: it is a folder", name)
	case err == nil && info.Mode().IsRegular():
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", name, reason(err))
		}
		return f.Close()
	case err == nil:
		return nil // to open a pipe or a device may have an effect
	}
	dir := filepath.Dir(name)
	switch info, err := os.Stat(dir); {
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", name, err)
	case !info.IsDir():
		return fmt.Errorf("cannot write %s: %s is not a folder", name, dir)
	}
	probe, err := os.CreateTemp(dir, ".triton-*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, reason(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// reason returns an error without the name of the file.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
