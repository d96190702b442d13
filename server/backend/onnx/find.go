package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"triton/pkg/status"
	"triton/server/backend"
)

// Environment is the variable that names the library.
const Environment = "TRITON_ONNXRUNTIME_LIBRARY"

// Search is where Find looks for ONNX Runtime's shared library. All fields are
// optional.
type Search struct {
	Explicit   string              // a setting of this program: no other place is tried
	Getenv     func(string) string // for Environment, which wins over all folders
	Executable string              // of this program: its folder and ../lib
	Directory  string              // the working directory: ./lib
	Backends   string              // --backend-directory: its folder onnxruntime
	System     []string            // instead of the usual system folders
}

// Find returns the path of the library. The error says how to get it.
func Find(s Search) (string, error) {
	if s.Explicit != "" {
		return namedLibrary(s.Explicit, "the setting --onnxruntime-library")
	}
	if s.Getenv != nil {
		if path := s.Getenv(Environment); path != "" {
			return namedLibrary(path, "the environment variable "+Environment)
		}
	}
	for _, dir := range s.folders() {
		if path := newest(dir); path != "" {
			return path, nil
		}
	}
	return "", &status.Error{
		Code: status.Unavailable, Cause: backend.ErrNoLibrary,
		Msg: "the ONNX Runtime library is missing: get it with 'make onnxruntime' (or 'pip download onnxruntime==1.31.1' and unzip), then name it with --onnxruntime-library or " + Environment + ", or put it into lib/ beside the program",
	}
}

// namedLibrary returns the library that the user names, by a file or by a folder that
// holds one.
func namedLibrary(path, by string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		if found := newest(path); found != "" {
			return found, nil
		}
		err = fmt.Errorf("no %s in it", strings.Join(patterns(), " or "))
	}
	if err != nil {
		return "", status.New(status.Unavailable, "the ONNX Runtime library '%s' given by %s cannot be used: %w", path, by, err)
	}
	return path, nil
}

func (s Search) folders() []string {
	var dirs []string
	if s.Executable != "" {
		bin := filepath.Dir(s.Executable)
		dirs = append(dirs, bin, filepath.Join(bin, "lib"), filepath.Join(bin, "..", "lib"))
	}
	if s.Directory != "" {
		dirs = append(dirs, filepath.Join(s.Directory, "lib"))
	}
	if s.Backends != "" {
		dirs = append(dirs, filepath.Join(s.Backends, Name))
	}
	if s.System != nil {
		return append(dirs, s.System...)
	}
	return append(dirs, systemFolders()...)
}

func systemFolders() []string {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return []string{
		"/opt/tritonserver/backends/onnxruntime", "/opt/onnxruntime/lib", "/usr/local/lib", "/usr/lib64",
		"/usr/lib/" + machine + "-linux-gnu", "/usr/lib", "/opt/homebrew/lib",
	}
}

func patterns() []string {
	if runtime.GOOS == "darwin" {
		return []string{"libonnxruntime.dylib", "libonnxruntime.*.dylib"}
	}
	return []string{"libonnxruntime.so", "libonnxruntime.so.*"}
}

// newest returns the library of the highest version in a folder; "" for none.
func newest(dir string) string {
	var found []string
	for _, p := range patterns() {
		paths, _ := filepath.Glob(filepath.Join(escape(dir), p)) // only a bad pattern fails
		found = append(found, paths...)
	}
	if len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, func(a, b string) int {
		return slices.Compare(version(filepath.Base(a)), version(filepath.Base(b)))
	})
}

// escape makes a folder's name safe for Glob.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// version returns the numbers in a text, such as 1, 31, 1.
func version(text string) []int {
	var numbers []int
	in := false
	for _, c := range text {
		if c < '0' || c > '9' {
			in = false
			continue
		}
		if !in {
			numbers = append(numbers, 0)
		}
		in = true
		last := &numbers[len(numbers)-1]
		*last = min(*last*10+int(c-'0'), 1<<20)
	}
	return numbers
}
