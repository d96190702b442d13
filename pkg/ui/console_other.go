//go:build !windows

package ui

import "io"

// obeySequences changes nothing: terminals obey escape sequences here.
func obeySequences(io.Writer) (restore func()) { return func() {} }
