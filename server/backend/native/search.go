package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"triton/pkg/status"
	"triton/server/backend"
)

// Search is where libraries are looked for. All fields are optional.
type Search struct {
	Getenv     func(string) string // for the variable of the library, which wins over all folders
	Executable string              // of this program: its folder and ../lib
	Directory  string              // the working directory: ./lib
	Backends   string              // --backend-directory: its folder with the backend's name
	System     []string            // instead of the usual system folders
}

// library describes the library of an engine.
type library struct {
	Name     string // such as "OpenVINO"
	Backend  string
	Pattern  string // of the file, such as "libopenvino_c.so*"
	Variable string // of the environment
	Package  string // of Python, which contains the library
	Inside   string // its folder in site-packages
}

// find returns the path of a library: the one that the setting "library" or the variable
// names, one in the folders, or the one in the package of the interpreter that the form in
// Python runs with.
func (s Search) find(l library, settings map[string]string) (string, error) {
	if path := settings["library"]; path != "" {
		return l.named(path, "--backend-config="+l.Backend+",library")
	}
	if s.Getenv != nil {
		if path := s.Getenv(l.Variable); path != "" {
			return l.named(path, "the environment variable "+l.Variable)
		}
	}
	folders := append(s.folders(l.Backend), sitePackages(settings["python-executable"], l.Inside)...)
	for _, dir := range folders {
		if path := newest(dir, l.Pattern); path != "" {
			return path, nil
		}
	}
	return "", &status.Error{
		Code: status.Unavailable, Cause: backend.ErrNoLibrary,
		Msg: fmt.Sprintf("the %s library %s is missing: looked in %s; get it with \"python3 -m pip install %s\", or name it with --backend-config=%s,library=<path> or %s",
			l.Name, l.Pattern, strings.Join(folders, ", "), l.Package, l.Backend, l.Variable),
	}
}

// named returns the library that the user names, by a file or by a folder that holds one.
func (l library) named(path, by string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		if found := newest(path, l.Pattern); found != "" {
			return found, nil
		}
		return "", status.New(status.Unavailable, "the %s library given by %s cannot be used: no %s in %s", l.Name, by, l.Pattern, path)
	}
	if err != nil {
		return "", status.New(status.Unavailable, "the %s library given by %s cannot be used: %w", l.Name, by, err)
	}
	return path, nil
}

func (s Search) folders(name string) []string {
	var dirs []string
	if s.Executable != "" {
		bin := filepath.Dir(s.Executable)
		dirs = append(dirs, filepath.Join(bin, "lib"), filepath.Join(bin, "..", "lib"))
	}
	if s.Directory != "" {
		dirs = append(dirs, filepath.Join(s.Directory, "lib"))
	}
	if s.Backends != "" {
		dirs = append(dirs, filepath.Join(s.Backends, name))
	}
	if s.System != nil {
		return append(dirs, s.System...)
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return append(dirs, "/usr/local/lib", "/usr/lib64", "/usr/lib/"+machine+"-linux-gnu")
}

// sitePackages returns the folders of a package in the installation of an interpreter. The
// interpreter is not run: its own folders come first, then those that it links to.
func sitePackages(interpreter, inside string) []string {
	if interpreter == "" {
		interpreter = "python3"
	}
	path, err := exec.LookPath(interpreter)
	if err != nil {
		return nil
	}
	roots := []string{filepath.Dir(filepath.Dir(path))}
	if real, err := filepath.EvalSymlinks(path); err == nil && !isVirtual(roots[0]) {
		roots = append(roots, filepath.Dir(filepath.Dir(real)))
	}
	var dirs []string
	for _, root := range slices.Compact(roots) {
		for _, pattern := range []string{"lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages", "local/lib/python3*/dist-packages"} {
			found, _ := filepath.Glob(filepath.Join(escape(root), pattern)) // only a bad pattern fails
			slices.SortFunc(found, byVersion)
			slices.Reverse(found)
			for _, dir := range found {
				dirs = append(dirs, filepath.Join(dir, inside))
			}
		}
	}
	return dirs
}

// isVirtual reports whether a folder is a virtual environment, which does not see the
// packages of the interpreter that it links to.
func isVirtual(root string) bool {
	_, err := os.Stat(filepath.Join(root, "pyvenv.cfg"))
	return err == nil
}

// newest returns the file of the highest version in a folder; "" for none.
func newest(dir, pattern string) string {
	found, _ := filepath.Glob(filepath.Join(escape(dir), pattern)) // only a bad pattern fails
	if len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, byVersion)
}

// byVersion compares paths by the numbers in them.
func byVersion(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

func numbers(text string) []int {
	var list []int
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return c < '0' || c > '9' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			n = 1 << 30 // too long to be a version
		}
		list = append(list, n)
	}
	return list
}

// escape makes a folder's name safe for Glob.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
