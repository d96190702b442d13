// Package capitest compiles C code into a library and calls it in the process of a test, whose
// functions of the C API it uses. It also reads the description of the API (server/capi/api.txt) and
// writes its headers. It is for tests and go generate only.
package capitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// compiled are the libraries of this process, by source, headers and flags: tests ask for the same ones.
var compiled = struct {
	sync.Mutex
	libraries map[string][]byte
}{libraries: map[string][]byte{}}

// Compile compiles a file in C to a library at a path, whose folder it makes. include is the folder
// of the headers. It skips the test where there is no compiler.
func Compile(t testing.TB, include, source, path string, flags ...string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("the test needs a C compiler: %v", err)
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	compiled.Lock()
	defer compiled.Unlock()
	key := strings.Join(append([]string{source, include}, flags...), "\x00")
	if compiled.libraries[key] == nil {
		made := filepath.Join(t.TempDir(), "made.so")
		args := append([]string{"-std=gnu11", "-g", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-I", include, "-o", made, source}, flags...)
		out, err := exec.CommandContext(t.Context(), compiler, append(args, "-lpthread")...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		compiled.libraries[key], err = os.ReadFile(made)
		require.NoError(t, err)
	}
	require.NoError(t, os.WriteFile(path, compiled.libraries[key], 0o700))
}
