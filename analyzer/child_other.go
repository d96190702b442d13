//go:build !linux

package analyzer

import "syscall"

// attributes are the system's own: what Linux offers for children is missing.
func attributes() *syscall.SysProcAttr { return nil }
