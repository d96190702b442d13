//go:build !linux

package python

import (
	"errors"
	"os"
)

// lockModules fails: Python models run on Linux only.
func lockModules(string) (*os.File, error) { return nil, errors.ErrUnsupported }
