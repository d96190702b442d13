package example

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	pkg, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	p := pretrained{wheel: wheel{file: "w.whl"}, graph: "pkg/model.onnx", sha256: sum([]byte("a graph")), license: "LICENSE"}
	all, err := p.contents(pkg)
	require.NoError(t, err)
	require.Equal(t, "a graph", string(all["1/model.onnx"]))
	require.Equal(t, "free", string(all["LICENSE"]))
	p.onlyExtra = true
	p.extra = func(_ *zip.Reader, graph []byte) (files, error) { return files{"letters": graph[:1]}, nil }
	all, err = p.contents(pkg)
	require.NoError(t, err)
	require.Equal(t, files{"letters": []byte("a"), "LICENSE": []byte("free")}, all)

	p.sha256 = sum([]byte("another graph"))
	_, err = p.contents(pkg)
	require.ErrorContains(t, err, "pkg/model.onnx of package w.whl has the sha256 "+sum([]byte("a graph")))
	p.graph = "model.onnx"
	_, err = p.contents(pkg)
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
	require.EqualError(t, err, `there is no example model "simple"; the models are voice_activity, file_type, text_recognition, text_detection, ocr_image, ocr_lines, ocr_text, ocr, ocr_bls`)
}

func TestAlphabet(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	f := onnxmodel.File{IRVersion: 8, Graph: "g", Metadata: map[string]string{"character": "a\nb\n"}}
	require.NoError(t, f.Write(&b))
	all, err := characters(b.Bytes())
	require.NoError(t, err)
	require.Equal(t, "a\nb\n ", string(all), "the blank is the last class")
}

func TestSampleSound(t *testing.T) {
	t.Parallel()
	wav := voiceSample()
	require.Equal(t, "RIFF", string(wav[:4]))
	require.Equal(t, "data", string(wav[36:40]))
	require.Len(t, wav, 44+2*sampleRate*7/2)
	require.Equal(t, make([]byte, 2*sampleRate), wav[44:44+2*sampleRate], "silence")
}

func TestSamplePictures(t *testing.T) {
	t.Parallel()
	pgm := textImage("TRITON 42")
	var width, height, white int
	_, err := fmt.Sscanf(string(pgm), "P5\n%d %d\n%d\n", &width, &height, &white)
	require.NoError(t, err)
	require.Equal(t, 255, white)
	pixels := pgm[len(pgm)-width*height:]
	require.EqualValues(t, 255, pixels[0], "bright ground")
	require.Contains(t, string(pixels), "\x00", "dark strokes")

	b, err := page()
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(b))
	require.NoError(t, err)
	require.Equal(t, image.Rect(0, 0, 760, 320), picture.Bounds())
	for _, l := range pageLines {
		for _, r := range l.text {
			require.Contains(t, letters, r)
		}
	}
}

// TestTrainedFiles checks what is written beside the graphs, without a package.
func TestTrainedFiles(t *testing.T) {
	t.Parallel()
	for _, m := range trainedCatalog() {
		r := repository{}
		withoutGraph := m
		withoutGraph.trained = nil
		all, err := r.contents(t.Context(), withoutGraph)
		require.NoError(t, err)
		require.Contains(t, string(all["config.pbtxt"]), `name: "`+m.name+`"`)
		require.NotContains(t, slices.Collect(maps.Values(all)), []byte(nil), m.name)
		if client := string(all["client.py"]); client != "" {
			require.Contains(t, client, "from v2 import")
			require.Contains(t, string(all["v2.py"]), "class Server")
		}
		if _, ok := all["1/model.py"]; ok {
			require.Contains(t, all, "1/ocr.py")
			require.Contains(t, all, "requirements.txt")
		}
		for _, name := range m.calls {
			require.True(t, slices.ContainsFunc(trainedCatalog(), func(m model) bool { return m.name == name }), name)
		}
	}
}
