//go:build !linux

package bench

import "syscall"

// attributes returns the defaults: other systems lack Linux's attributes.
func attributes() *syscall.SysProcAttr { return nil }
