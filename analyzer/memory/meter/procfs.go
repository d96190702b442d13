// Package meter reads the memory that a server takes: of its processes and of this machine from /proc and /sys of
// Linux, and of GPUs from the driver.
//
// What counts as a server's own memory are its anonymous pages and its shared memory: nothing but
// the server's processes maps them, and without swap the kernel cannot take them back. Pages of
// files, such as the program and its libraries, are read apart: the kernel can drop them, and
// whether they are shared depends on the neighbors.
package meter

import (
	"bufio"
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// FS reads /proc and /sys. On systems without them its methods return errors.
type FS struct {
	// Root is the folder with proc and sys; empty means "/".
	Root string
}

func (f FS) path(parts ...string) string {
	root := cmp.Or(f.Root, "/")
	return filepath.Join(append([]string{root}, parts...)...)
}

// kilobytes reads a file of lines such as "Pss:   12 kB" and returns bytes.
func (f FS) kilobytes(parts ...string) (map[string]uint64, error) {
	b, err := os.ReadFile(f.path(parts...))
	if err != nil {
		return nil, err
	}
	values := make(map[string]uint64)
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		if name, bytes, ok := kilobyteLine(lines.Text()); ok {
			values[name] += bytes
		}
	}
	return values, nil
}

// kilobyteLine reads a line such as "Pss:   12 kB".
func kilobyteLine(line string) (name string, bytes uint64, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[2] != "kB" {
		return "", 0, false
	}
	n, err := strconv.ParseUint(fields[1], 10, 54)
	if err != nil {
		return "", 0, false
	}
	return strings.TrimSuffix(fields[0], ":"), n << 10, true
}

// number reads a file with one number; ok is false for the word max.
func (f FS) number(parts ...string) (n uint64, ok bool, err error) {
	b, err := os.ReadFile(f.path(parts...))
	if err != nil {
		return 0, false, err
	}
	n, err = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil, nil
}

// keys reads a file of lines such as "oom_kill 3".
func (f FS) keys(parts ...string) (map[string]uint64, error) {
	b, err := os.ReadFile(f.path(parts...))
	if err != nil {
		return nil, err
	}
	values := make(map[string]uint64)
	for line := range strings.Lines(string(b)) {
		if name, text, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			if n, err := strconv.ParseUint(text, 10, 64); err == nil {
				values[name] = n
			}
		}
	}
	return values, nil
}
