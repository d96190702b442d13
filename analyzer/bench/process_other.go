//go:build !linux

package bench

import (
	"errors"
	"os/exec"
	"time"
)

func ownGroup(*exec.Cmd) {}

func cpuTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
