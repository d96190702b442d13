//go:build cgo && linux

package sharedlib

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
)

// build compiles C to a shared library.
func build(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler to build a library with")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "a.c")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	path := filepath.Join(dir, name)
	out, err := exec.CommandContext(t.Context(), cc, append([]string{"-shared", "-fPIC", "-o", path, file}, flags...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// server builds an empty library with the name of the server's library and returns the
// flags that make another library depend on it. It is not where the loader searches.
func server(t *testing.T, soname string) []string {
	t.Helper()
	path := build(t, "libstub.so", "int unused_stub;", "-Wl,-soname,"+soname)
	return []string{"-Wl,--no-as-needed", path}
}

const answer = "int answer(void) { return 42; }"

func TestLibraryThatNeedsTheServer(t *testing.T) {
	for _, name := range []string{"libtritonserver.so", "libtritonserver-717102f0.so"} {
		t.Run(name, func(t *testing.T) {
			l, err := Open(build(t, "libtriton_a.so", answer, server(t, name)...))
			require.NoError(t, err)
			require.NotNil(t, l.Symbol("answer"))
			require.Nil(t, l.Symbol("question"))
			_, err = l.Require("question")
			require.EqualError(t, err, "unable to find required entrypoint 'question' in shared library")
			require.Equal(t, status.NotFound, status.CodeOf(err))
		})
	}
}

func TestTheNameIsLoadedOnce(t *testing.T) {
	flags := server(t, plainServer)
	_, err := Open(build(t, "libtriton_a.so", answer, flags...))
	require.NoError(t, err)
	first := loader.servers[plainServer]
	_, err = Open(build(t, "libtriton_b.so", answer, flags...))
	require.NoError(t, err)
	require.Equal(t, first, loader.servers[plainServer])
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(maps, []byte("memfd:"+plainServer+" ")))
}

func TestSymbolsStayInTheirLibrary(t *testing.T) {
	a, err := Open(build(t, "libtriton_a.so", answer))
	require.NoError(t, err)
	b, err := Open(build(t, "libtriton_b.so", answer))
	require.NoError(t, err)
	require.NotEqual(t, a.Symbol("answer"), b.Symbol("answer"))
	require.Nil(t, symbol(nil, "answer"), "not visible to others")
}

func TestMissingFunctionsAreListed(t *testing.T) {
	const caller = `
extern void TRITONBACKEND_Zeppelin(void), TRITONSERVER_Airship(void), TRITONCACHE_Balloon(void);
extern void TRITONREPOAGENT_Kite(void) __attribute__((weak));
void all(void) { TRITONBACKEND_Zeppelin(); TRITONSERVER_Airship(); TRITONCACHE_Balloon(); if (TRITONREPOAGENT_Kite) TRITONREPOAGENT_Kite(); }`
	path := build(t, "libtriton_a.so", caller)
	_, err := Open(path)
	require.EqualError(t, err, "unable to load shared library: "+path+": it was built for another version of the server, and this program lacks the functions it needs: "+
		"TRITONBACKEND_Zeppelin, TRITONCACHE_Balloon, TRITONSERVER_Airship")

	// They are found once the program has them.
	_, err = open(build(t, "libhost.so", "void TRITONBACKEND_Zeppelin(void) {} void TRITONSERVER_Airship(void) {} void TRITONCACHE_Balloon(void) {}"), 1)
	require.NoError(t, err)
	_, err = Open(path)
	require.NoError(t, err)
}

func TestUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		return path
	}
	good := namedObject("libother.so", machines["amd64"])
	narrow := bytes.Clone(good)
	narrow[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "no.so"), "cannot open shared object file: no such file or directory"},
		{write("text.so", []byte("#!/bin/sh\n")), "not a shared library"},
		{write("empty.so", nil), "not a shared library"},
		{write("machine.so", namedObject("libother.so", elf.EM_PPC64)), "built for EM_PPC64, and this machine is "},
		{build(t, "undefined.so", "extern int elsewhere(void); int f(void) { return elsewhere(); }"), "undefined symbol: elsewhere"},
		{build(t, "needy.so", answer, "-Wl,--no-as-needed", build(t, "libgone.so", "int unused_gone;", "-Wl,-soname,libgone.so.7")), "libgone.so.7: cannot open shared object file"},
	} {
		_, err := Open(c.path)
		require.ErrorContains(t, err, "unable to load shared library: ")
		require.ErrorContains(t, err, c.want)
		require.Equal(t, status.NotFound, status.CodeOf(err))
	}
}

func FuzzInspect(f *testing.F) {
	f.Add(namedObject(plainServer, elf.EM_X86_64))
	f.Add([]byte(elf.ELFMAG))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "a.so")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		_, err := inspect(path)
		if err != nil {
			require.Equal(t, status.NotFound, status.CodeOf(err))
		}
	})
}
