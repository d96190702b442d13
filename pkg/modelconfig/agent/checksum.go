package agent

import (
	"crypto/md5" //nolint:gosec // the one algorithm that NVIDIA's agent has
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"triton/pkg/status"
)

// compare checks one file; key is "<algorithm>:<path in the model's directory>".
func (r *runner) compare(path, key, want string) {
	algorithm, file, ok := strings.Cut(key, ":")
	switch {
	case !ok:
		r.add(status.InvalidArg, path, `write "MD5:<file>"`, "failed to parse key: %s", key)
		return
	case !strings.EqualFold(algorithm, "md5"):
		r.add(status.Unsupported, path, "write MD5", "Unsupported checksum algorithm: %s", algorithm)
		return
	case !fs.ValidPath(file):
		r.add(status.InvalidArg, path, "name a file of the model",
			"failed to open text file for read %s: it is outside of the model's directory", file)
		return
	}
	got, err := r.md5(file)
	switch {
	case err != nil:
		r.add(status.InvalidArg, path, "name a file of the model", "failed to open text file for read %s: %s", file, reason(err))
	case got != want:
		r.add(status.InvalidArg, path, "restore the file, or write its hash",
			"Mismatched MD5 hash for file %s, expect: %s, got: %s", file, want, got)
	}
}

func (r *runner) md5(file string) (string, error) {
	// To open a named pipe would wait for ever.
	if info, err := fs.Stat(r.dir, file); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := r.dir.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := md5.New() //nolint:gosec // as above
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// reason returns the text of the operating system, capitalized as by strerror.
func reason(err error) string {
	var no syscall.Errno
	if errors.Is(err, fs.ErrNotExist) {
		no = syscall.ENOENT
	} else if !errors.As(err, &no) {
		return err.Error()
	}
	s := no.Error()
	return strings.ToUpper(s[:1]) + s[1:]
}
