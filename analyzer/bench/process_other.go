//go:build !linux

package bench

import "os/exec"

func ownGroup(*exec.Cmd) {}
