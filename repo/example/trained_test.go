package example

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/onnxmodel"
)

// sum returns the sha256 of b as packages are pinned with.
func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// pack makes a package of these files.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// fakePython returns a program that does what body says with the folder $dir, into
// which pip would download, and appends its arguments to a log. Tests with one do
// not run in parallel: a program that is forked meanwhile may hold the file open
// for writing, and then it cannot be started.
func fakePython(t *testing.T, body string) (python, log string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	python, log = filepath.Join(dir, "python"), filepath.Join(dir, "log")
	script := `#!/bin/sh
echo "$@" >> ` + log + `
while [ $# -gt 0 ]; do case $1 in --dest) dir=$2 ;; --requirement) cat "$2" >> ` + log + ` ;; esac; shift; done
` + body + "\n"
	require.NoError(t, os.WriteFile(python, []byte(script), 0o755))
	return python, log
}

// served returns a package and a Python whose pip downloads it.
func served(t *testing.T, content []byte) (w wheel, python, log string) {
	t.Helper()
	from := filepath.Join(t.TempDir(), "package")
	require.NoError(t, os.WriteFile(from, content, 0o644))
	w = wheel{name: "some-model", version: "1.2.3", file: "some_model-1.2.3-py3-none-any.whl", sha256: sum(content)}
	python, log = fakePython(t, "cp "+from+` "$dir/`+w.file+`"`)
	return w, python, log
}

func TestFetchOnce(t *testing.T) {
	w, python, log := served(t, []byte("a package"))
	kept := filepath.Join(t.TempDir(), "packages")
	for range 2 {
		path, err := fetcher{python, kept}.get(t.Context(), w, t.TempDir())
		require.NoError(t, err)
		require.Equal(t, filepath.Join(kept, w.file), path)
	}
	calls, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(calls), "-m pip download"), "the second time nothing is fetched")
	require.Contains(t, string(calls), "--no-deps --require-hashes")
	require.Contains(t, string(calls), "some-model==1.2.3 --hash=sha256:"+w.sha256+"\n")
	left, err := os.ReadDir(kept)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestFetchRefuses(t *testing.T) {
	w, python, _ := served(t, []byte("a package"))
	kept, scratch := t.TempDir(), t.TempDir()

	other := w
	other.sha256 = sum([]byte("another package"))
	_, err := fetcher{python, ""}.get(t.Context(), other, scratch)
	require.ErrorContains(t, err, "has the sha256 "+w.sha256+", not "+other.sha256)

	require.NoError(t, os.WriteFile(filepath.Join(kept, w.file), []byte("half a package"), 0o644))
	_, err = fetcher{python, kept}.get(t.Context(), w, scratch)
	require.ErrorContains(t, err, "delete it")

	_, err = fetcher{filepath.Join(kept, "python"), ""}.get(t.Context(), w, scratch)
	require.ErrorContains(t, err, "fetch some-model 1.2.3: needs Python with pip: ")
	require.ErrorContains(t, err, "--packages")

	broken, _ := fakePython(t, "echo working >&2; echo 'No module named pip' >&2; exit 1")
	_, err = fetcher{broken, ""}.get(t.Context(), w, scratch)
	require.ErrorContains(t, err, "-m pip download: exit status 1\nworking\nNo module named pip")

	left, err := os.ReadDir(scratch)
	require.NoError(t, err)
	require.Empty(t, left, "failures leave nothing behind")
}

// TestFetchRunsOutsideTheCurrentFolder: Python does not run in the current folder, where it would import a
// file named pip.py, and relative paths are still relative to the current folder.
func TestFetchRunsOutsideTheCurrentFolder(t *testing.T) {
	w, python, _ := served(t, []byte("a package"))
	here := t.TempDir()
	t.Chdir(here)
	folder := filepath.Join(here, "folder")
	script, err := os.ReadFile(python)
	require.NoError(t, err)
	script = append(script, ("\npwd > " + folder + "\n")...)
	require.NoError(t, os.WriteFile("python", script, 0o755))
	path, err := fetcher{"./python", "packages"}.get(t.Context(), w, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, filepath.Join("packages", w.file), path)
	require.FileExists(t, filepath.Join(here, path))
	ran, err := os.ReadFile(folder)
	require.NoError(t, err)
	require.Contains(t, string(ran), filepath.Join("packages", ".fetch-"))
}

func TestTrainedContents(t *testing.T) {
	t.Parallel()
	content := pack(t, map[string]string{"pkg/model.onnx": "a graph", "LICENSE": "free"})
	files, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	p := pretrained{name: "voice_activity", wheel: wheel{file: "w.whl"}, graph: "pkg/model.onnx", sha256: sum([]byte("a graph")), license: "LICENSE"}
	all, err := p.contents(files)
	require.NoError(t, err)
	require.Equal(t, "a graph", string(all["1/model.onnx"]))
	require.Equal(t, "free", string(all["LICENSE"]))
	require.Contains(t, string(all["client.py"]), "from v2 import")
	require.Contains(t, string(all["v2.py"]), "class Server")

	p.sha256 = sum([]byte("another graph"))
	_, err = p.contents(files)
	require.ErrorContains(t, err, "pkg/model.onnx of package w.whl has the sha256 "+sum([]byte("a graph")))
	p.graph = "model.onnx"
	_, err = p.contents(files)
	require.ErrorContains(t, err, "package has no model.onnx")
}

// TestTrainedFailureWritesNothing has no Python: the repository stays empty.
func TestTrainedFailureWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := Write(t.Context(), dir, Options{Trained: true, Python: filepath.Join(dir, "none")})
	require.ErrorContains(t, err, "write model voice_activity: fetch silero-vad 6.2.3: needs Python with pip")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	err = Write(t.Context(), dir, Options{Trained: true, Models: []string{"simple"}})
	require.EqualError(t, err, `there is no example model "simple"; the models are voice_activity, file_type, text_recognition`)
}

func TestAlphabet(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	f := onnxmodel.File{IRVersion: 8, Graph: "g", Metadata: map[string]string{"character": "a\nb\n"}}
	require.NoError(t, f.Write(&b))
	all, err := characters(nil, b.Bytes())
	require.NoError(t, err)
	require.Equal(t, "a\nb\n ", string(all["characters.txt"]), "the blank is the last class")
	require.True(t, bytes.HasPrefix(all["sample.pgm"], []byte("P5\n")))
}

func TestSampleSound(t *testing.T) {
	t.Parallel()
	wav := voiceSample()
	require.Equal(t, "RIFF", string(wav[:4]))
	require.Equal(t, "data", string(wav[36:40]))
	require.Len(t, wav, 44+2*sampleRate*7/2)
	require.Equal(t, make([]byte, 2*sampleRate), wav[44:44+2*sampleRate], "silence")
}
