//go:build !linux

package env

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

func lock(context.Context, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func guarded(*exec.Cmd, *os.File) (release func(), err error) { return nil, errors.ErrUnsupported }

func private(string) error { return errors.ErrUnsupported }
