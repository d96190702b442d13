//go:build !linux

package freeport

import (
	"errors"
	"io"
)

func hold() (port int, holder io.Closer, err error) { return 0, nil, errors.ErrUnsupported }
