package status

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

// Strerror returns the text of a file system error without the path. The text of an error of
// the operating system has a capital first letter, as C's strerror returns it.
func Strerror(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		text := number.Error()
		return strings.ToUpper(text[:1]) + text[1:]
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
