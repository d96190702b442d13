//go:build cgo && (linux || darwin)

package onnx

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// fingerprint identifies the optimized model that ONNX Runtime makes: from the content of the file,
// the files beside and below it, which may be its external data, the library, the options and the processor.
func (o *opening) fingerprint() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, o.lib.version, o.options.level, o.options.entries, runtime.GOARCH, processor())
	for _, path := range append([]string{o.lib.path}, o.options.libraries...) {
		if err := identify(h, path); err != nil {
			return "", err
		}
	}
	dir := filepath.Dir(o.path)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir || path == o.path {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintln(h, name)
		return identify(h, path)
	})
	if err != nil {
		return "", err
	}
	f, err := os.Open(o.path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// identify writes what tells a file from an earlier one of the same name. A library that the system
// looks for is identified by its name.
func identify(w io.Writer, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		_, err = fmt.Fprintln(w, path)
		return err
	}
	_, err = fmt.Fprintln(w, filepath.Base(path), info.Size(), info.ModTime().UnixNano())
	return err
}

// processor returns what the system says that the processor can do: some optimizations depend on it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, _ := strings.Cut(lines.Text(), ":"); strings.HasPrefix(key, "flags") || strings.HasPrefix(key, "Features") {
			return value
		}
	}
	return ""
}

// fileName makes the name of a model safe as the name of one file.
func fileName(model string) string { return strings.ReplaceAll(model, string(filepath.Separator), "_") }
