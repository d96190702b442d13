package process

import (
	"errors"
	"io"
	"os"
)

// WriteFile creates or truncates a file, lets write fill it and closes it.
func WriteFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
