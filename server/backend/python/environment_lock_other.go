//go:build !linux

package python

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

func lockFile(context.Context, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func guarded(*exec.Cmd, *os.File) (release func(), err error) { return nil, errors.ErrUnsupported }

func checkPrivate(string) error { return errors.ErrUnsupported }
