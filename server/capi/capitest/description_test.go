package capitest_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
	"triton/server/capi/capitest"
)

const include = "../include"

func parse(t *testing.T) []capitest.Header {
	t.Helper()
	text, err := os.ReadFile("../api.txt")
	require.NoError(t, err)
	headers, err := capitest.Parse(bytes.NewReader(text))
	require.NoError(t, err)
	require.Len(t, headers, 4)
	return headers
}

// TestHeaders compares the headers with the description; -update writes them.
func TestHeaders(t *testing.T) {
	headers := parse(t)
	for _, h := range headers {
		path := filepath.Join(include, "triton", "core", h.Name+".h")
		text := h.C(headers[0])
		if sharedtest.UpdateGolden() {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			continue
		}
		written, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(written), "run `go generate ./server/capi`")
	}
}

// TestCompile compiles each header alone as C11 and as C++17.
func TestCompile(t *testing.T) {
	for _, compiler := range []struct{ name, language, standard string }{
		{"cc", "c", "-std=c11"}, {"c++", "c++", "-std=c++17"},
	} {
		program, err := exec.LookPath(compiler.name)
		if err != nil {
			t.Logf("%s: %v", compiler.name, err)
			continue
		}
		for _, h := range parse(t) {
			cmd := exec.Command(program, "-x", compiler.language, compiler.standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror",
				"-fsyntax-only", "-I", include, "-")
			cmd.Stdin = strings.NewReader(fmt.Sprintf("#include \"triton/core/%s.h\"\n", h.Name))
			output, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", cmd, output)
		}
	}
}

// TestCounts holds the numbers of functions that the versions of the API have.
func TestCounts(t *testing.T) {
	functions := map[string]int{}
	names := map[string]bool{}
	for _, h := range parse(t) {
		for _, item := range h.Items {
			require.False(t, names[item.Name], "%s twice", item.Name)
			names[item.Name] = true
			require.NotEmpty(t, item.Meaning)
			if item.Kind == capitest.Func || item.Kind == capitest.Entry {
				functions[h.Name+" "+string(item.Kind)]++
			}
		}
	}
	require.Equal(t, map[string]int{
		"tritonserver func":   172,
		"tritonbackend func":  91,
		"tritonbackend entry": 14,
		"tritoncache func":    6, "tritoncache entry": 4,
		"tritonrepoagent func": 12, "tritonrepoagent entry": 5,
	}, functions)
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, message string }{
		{"\tmeaning\n", `line 1: no item before "meaning"`},
		{"opaque X\n", `line 1: "opaque" before the first header`},
		{"header h\nversion P one\n", "line 2: version: expected integer"},
		{"header h\nopaque X\nopaque Y\n", "line 3: the item before has no meaning"},
		{"header h\nopaque X\n", "the last item has no meaning"},
		{"header h\nenum X\n", "line 2: enum X has no tag"},
		{"header h\nenum X x\n\tmeaning\n\tA\n", `line 4: "A" is not a value`},
		{"header h\nfunc f\n", "line 2: f: arguments must be in parentheses"},
		{"header h\nstruct X\n", `line 2: unknown word "struct"`},
	} {
		_, err := capitest.Parse(strings.NewReader(c.text))
		require.EqualError(t, err, c.message, "%q", c.text)
	}
}
