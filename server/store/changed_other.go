//go:build !linux

package store

import "io/fs"

// Changed returns when a file's content was changed last, in Unix nanoseconds.
func Changed(info fs.FileInfo) int64 { return info.ModTime().UnixNano() }
