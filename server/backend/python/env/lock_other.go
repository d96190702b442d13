//go:build !linux

package env

import (
	"context"
	"errors"
)

func lock(context.Context, string) (func(), error) { return nil, errors.ErrUnsupported }

func private(string) error { return errors.ErrUnsupported }
