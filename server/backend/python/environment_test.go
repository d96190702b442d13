package python

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testServerVariable is the environment variable that makes this program a server of a test: its value
// is the folder of a model with requirements.
const testServerVariable = "TRITON_TEST_SERVER"

// installing describes a model in a folder that hanging has written.
func installing(dir string) environmentOptions {
	return environmentOptions{
		ModelDir: dir, Executable: "python3", Requirements: filepath.Join(dir, "requirements.txt"),
		Cache: filepath.Join(dir, "cache"), Log: slog.New(slog.DiscardHandler),
	}
}

func TestActivated(t *testing.T) {
	t.Parallel()
	env := activated([]string{"A=1", "PYTHONHOME=/x", "VIRTUAL_ENV=/y", "PATH=/bin"}, "/env")
	require.Equal(t, []string{"A=1", "PATH=/env/bin:/bin", "VIRTUAL_ENV=/env", "VIRTUAL_ENV_PROMPT=(/env)", "LD_LIBRARY_PATH=/env/lib:"}, env)
}

// testEnvironmentOptions returns the options of a model in a folder of its own.
func testEnvironmentOptions(t *testing.T) environmentOptions {
	t.Helper()
	dir := t.TempDir()
	model := filepath.Join(dir, "m")
	require.NoError(t, os.Mkdir(model, 0o755))
	return environmentOptions{ModelDir: model, Cache: filepath.Join(dir, "cache"), Log: slog.New(slog.DiscardHandler)}
}

// entryOf is one entry of an archive.
type entryOf struct {
	name, text, link string
	kind             byte
}

// environmentEntries are those of a minimal execution environment.
func environmentEntries() []entryOf {
	return []entryOf{
		{name: "./", kind: tar.TypeDir},
		{name: "./bin/python3.99", text: "#!/bin/sh\n"},
		{name: "bin/python3", link: "python3.99", kind: tar.TypeSymlink},
		{name: "bin/activate"},
		{name: "lib/a.py", text: "a"},
		{name: "lib64", link: "lib", kind: tar.TypeSymlink},
		{name: "lib64/b.py", link: "lib/a.py", kind: tar.TypeLink},
		{name: "share/link", link: "/usr/share", kind: tar.TypeSymlink},
	}
}

// archived writes an archive.
func archived(t *testing.T, path string, zipped bool, entries ...entryOf) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	var w io.Writer = f
	if zipped {
		z := gzip.NewWriter(f)
		defer func() { require.NoError(t, z.Close()) }()
		w = z
	}
	a := tar.NewWriter(w)
	for _, e := range entries {
		h := tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Mode: 0o755, Size: int64(len(e.text)), ModTime: time.Unix(1e9, 0)}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		require.NoError(t, a.WriteHeader(&h))
		_, err := a.Write([]byte(e.text))
		require.NoError(t, err)
	}
	require.NoError(t, a.Close())
}

// TestArchive: an archive is unpacked once for each content, by whatever name, also when
// many models ask at the same time and by a later server.
func TestArchive(t *testing.T) {
	t.Parallel()
	o := testEnvironmentOptions(t)
	archived(t, filepath.Join(o.ModelDir, "e.tar.gz"), true, environmentEntries()...)
	o.Path = modelDirectory + "/e.tar.gz"
	var s environmentStore
	var wg sync.WaitGroup
	found := make([]environment, 4)
	for i := range found {
		wg.Go(func() {
			var err error
			if found[i], err = s.Find(t.Context(), o); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	dir := filepath.Dir(filepath.Dir(found[0].Interpreter))
	require.Equal(t, "python3", filepath.Base(found[0].Interpreter))
	require.Equal(t, filepath.Join(o.Cache, filepath.Base(dir)), dir)
	for _, e := range found {
		require.Equal(t, found[0].Interpreter, e.Interpreter)
		require.Contains(t, e.Env, "VIRTUAL_ENV="+dir)
	}
	info, err := os.Stat(filepath.Join(dir, "lib", "b.py"))
	require.NoError(t, err)
	require.Equal(t, time.Unix(1e9, 0), info.ModTime())

	mark := filepath.Join(dir, "mark") // it exists until the archive is unpacked again
	require.NoError(t, os.WriteFile(mark, nil, 0o600))
	require.NoError(t, os.Rename(filepath.Join(o.ModelDir, "e.tar.gz"), filepath.Join(o.ModelDir, "f.tar.gz")))
	o.Path = modelDirectory + "/f.tar.gz"
	e, err := (&environmentStore{}).Find(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, found[0].Interpreter, e.Interpreter)
	require.FileExists(t, mark)

	archived(t, filepath.Join(o.ModelDir, "plain.tar"), false, append(environmentEntries(), entryOf{name: "more"})...)
	o.Path = filepath.Join(o.ModelDir, "plain.tar")
	e, err = s.Find(t.Context(), o)
	require.NoError(t, err)
	require.NotEqual(t, found[0].Interpreter, e.Interpreter)
	require.NoError(t, os.Remove(dir+".complete")) // a server was killed while it unpacked
	o.Path = modelDirectory + "/f.tar.gz"
	_, err = s.Find(t.Context(), o)
	require.NoError(t, err)
	require.NoFileExists(t, mark)
}

// TestBadArchives: nothing is written outside of the folder, and what failed is not kept.
func TestBadArchives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entries []entryOf
		want    string
	}{
		"parent":    {[]entryOf{{name: "bin/../../../evil"}}, "bin/../../../evil: Path contains '..'"},
		"absolute":  {[]entryOf{{name: "/evil"}}, "/evil: Path is absolute"},
		"link":      {[]entryOf{{name: "out", link: "..", kind: tar.TypeSymlink}, {name: "out/evil"}}, "out/evil: "},
		"hard link": {[]entryOf{{name: "out", link: "../../evil", kind: tar.TypeLink}}, "out: Path contains '..'"},
		"device":    {[]entryOf{{name: "dev", kind: tar.TypeChar}}, "dev: entries of type '3' are not extracted"},
		"activate":  {[]entryOf{{name: "bin/python3"}}, "/bin/activate does not exist. The Python environment should contain an 'activate' script."},
		"python":    {[]entryOf{{name: "bin/activate"}}, "has no interpreter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testEnvironmentOptions(t)
			archived(t, filepath.Join(o.ModelDir, "e.tar.gz"), true, c.entries...)
			o.Path = modelDirectory + "/e.tar.gz"
			_, err := (&environmentStore{}).Find(t.Context(), o)
			require.ErrorContains(t, err, c.want)
			require.NoFileExists(t, filepath.Join(o.Cache, "evil"))
			require.NoFileExists(t, filepath.Join(o.ModelDir, "..", "evil"))
		})
	}
	o := testEnvironmentOptions(t)
	o.Path = filepath.Join(o.ModelDir, "e.tar.gz")
	_, err := (&environmentStore{}).Find(t.Context(), o)
	require.EqualError(t, err, "Failed to get the canonical path for "+o.Path+".")
	require.NoError(t, os.WriteFile(o.Path, []byte(strings.Repeat("no archive ", 100)), 0o600))
	_, err = (&environmentStore{}).Find(t.Context(), o)
	require.ErrorContains(t, err, "unpacking the execution environment "+o.Path+": it is not a tar archive, plain or compressed by gzip: ")
	entries, err := os.ReadDir(o.Cache)
	require.NoError(t, err)
	for _, e := range entries {
		require.True(t, strings.HasSuffix(e.Name(), ".lock"), e.Name())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&environmentStore{}).Find(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
}

// TestRequirements: packages come from a folder without an index, once for each content
// of the file; what the interpreter has can be imported too.
func TestRequirements(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it makes several virtual environments")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	for _, module := range []string{"venv", "pip"} {
		if out, err := exec.CommandContext(t.Context(), python, "-c", "import "+module).CombinedOutput(); err != nil {
			t.Skipf("needs python3 with %s: %s", module, out)
		}
	}
	o := testEnvironmentOptions(t)
	o.Executable = python
	wheel(t, python, filepath.Join(o.ModelDir, "wheels"))
	o.Requirements = filepath.Join(o.ModelDir, "requirements.txt")
	require.NoError(t, os.WriteFile(o.Requirements, []byte("--no-index\n--find-links wheels\nnothing-else==1.0\n"), 0o600))
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	relative := o
	relative.Requirements, err = filepath.Rel(here, o.Requirements)
	require.NoError(t, err)
	var s environmentStore
	e, err := s.Find(t.Context(), relative)
	require.NoError(t, err)
	out, err := runInterpreter(t.Context(), e, o.ModelDir, "-c", "import nothing_else, pip; print(nothing_else.word)")
	require.NoError(t, err)
	require.Equal(t, "found\n", string(out))
	again, err := s.Find(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, e.Interpreter, again.Interpreter)

	require.NoError(t, os.WriteFile(o.Requirements, []byte("--no-index\n--find-links wheels\nnothing-else==2.0\n"), 0o600))
	_, err = s.Find(t.Context(), o)
	require.ErrorContains(t, err, "python -m pip install: exit status 1: ")
	require.ErrorContains(t, err, "No matching distribution found for nothing-else==2.0")
	o.Requirements = filepath.Join(o.ModelDir, "none.txt")
	_, err = s.Find(t.Context(), o)
	require.ErrorContains(t, err, "the requirements of a Python model: open "+o.Requirements)
}

// wheel writes a package that pip can install.
func wheel(t *testing.T, python, dir string) {
	t.Helper()
	script := `import os, sys, zipfile
os.makedirs(sys.argv[1])
info = "nothing_else-1.0.dist-info/"
with zipfile.ZipFile(sys.argv[1] + "/nothing_else-1.0-py3-none-any.whl", "w") as z:
    z.writestr("nothing_else.py", "word = 'found'\n")
    z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: nothing-else\nVersion: 1.0\n")
    z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr(info + "RECORD", "")
`
	out, err := exec.CommandContext(t.Context(), python, "-c", script, dir).CombinedOutput()
	require.NoError(t, err, string(out))
}
