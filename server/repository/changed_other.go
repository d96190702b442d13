//go:build !linux

package repository

import "io/fs"

// changed is when a file's content was changed last, in Unix nanoseconds.
func changed(info fs.FileInfo) int64 { return info.ModTime().UnixNano() }
