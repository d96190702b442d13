//go:build unix

package filecache

import (
	"errors"
	"os"
)

// syncDir writes the entries of a folder to the disk.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
