package model

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
)

// printed is version 1 of a model in a directory.
type printed struct {
	model, version string
	config         *inferencepb.ModelConfig
	home           string
}

func newPrinted(t *testing.T, name string, files map[string]string) *printed {
	t.Helper()
	return &printed{name, "1", &inferencepb.ModelConfig{
		Name: name, Backend: "identity", Parameters: map[string]*inferencepb.ModelParameter{
			"a": {StringValue: "1"}, "b": {StringValue: "2"}, "c": {StringValue: "3"},
		},
	}, filesOf(t, files)}
}

// load observes the files, makes a change and completes the fingerprint.
func (p *printed) load(during func(p *printed)) *fingerprint {
	f := observeFiles(fingerprintFiles{
		Dir: p.home, Version: "1", ConfigEntry: "config.pbtxt",
		Libraries: p.config.GetModelOperations().GetOpLibraryFilename(),
	})
	during(p)
	f.Complete(p.model, p.version, p.config)
	return f
}

// fingerprintOf makes the fingerprint of version 1 of a model; change is made before the
// load, during between it and the hash.
func fingerprintOf(t *testing.T, files map[string]string, change, during func(p *printed)) (string, error) {
	t.Helper()
	p := newPrinted(t, "m", files)
	change(p)
	f := p.load(during)
	text := f.Text()
	require.Equal(t, text, f.Text(), "it stays")
	return text, f.RandomReason()
}

func (p *printed) write(t *testing.T, name, text string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(p.home, name)), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.home, name), []byte(text), 0o644))
}

var modelFiles = map[string]string{"1/model.onnx": "weights", "1/more/part": "x", "2/model.onnx": "others", "config.pbtxt": "a", "labels.txt": "l"}

func noChange(*printed) {}

// TestFingerprint: servers that share a cache find each other's answers when their models are
// the same. The location and age of the files do not matter.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	base, why := fingerprintOf(t, modelFiles, noChange, noChange)
	require.NoError(t, why)
	for name, test := range map[string]struct {
		change func(p *printed)
		same   bool
	}{
		"nothing":       {noChange, true},
		"instances":     {func(p *printed) { p.config.InstanceGroup = []*inferencepb.ModelInstanceGroup{{Count: 7}} }, true},
		"source":        {func(p *printed) { p.write(t, "config.pbtxt", "b") }, true}, // what it says is the configuration
		"other version": {func(p *printed) { p.write(t, "2/model.onnx", "more") }, true},
		"compiled":      {func(p *printed) { p.write(t, "1/__pycache__/model.pyc", "x") }, true},
		"same content":  {func(p *printed) { p.write(t, "1/model.onnx", "weights") }, true},
		"name":          {func(p *printed) { p.model = "n" }, false},
		"version":       {func(p *printed) { p.version = "2" }, false},
		"parameter":     {func(p *printed) { p.config.Parameters["a"].StringValue = "9" }, false},
		"batch":         {func(p *printed) { p.config.MaxBatchSize = 1 }, false},
		"content":       {func(p *printed) { p.write(t, "1/model.onnx", "Weights") }, false},
		"top level":     {func(p *printed) { p.write(t, "labels.txt", "m") }, false},
		"more":          {func(p *printed) { p.write(t, "1/z", "") }, false},
		"moved text": {func(p *printed) {
			p.write(t, "1/model.onnx", "weight")
			p.write(t, "1/more/part", "sx")
		}, false},
		"operators": {func(p *printed) {
			p.write(t, "1/ops.so", "code")
			p.config.ModelOperations = &inferencepb.ModelOperations{OpLibraryFilename: []string{filepath.Join(p.home, "1", "ops.so")}}
		}, false},
	} {
		print, why := fingerprintOf(t, modelFiles, test.change, noChange)
		require.NoError(t, why, name)
		require.Equal(t, test.same, print == base, name)
	}
}

// TestFingerprintOfChanges: if it is not known which files the backend has read, the fingerprint
// is unique, even among versions with the same files.
func TestFingerprintOfChanges(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]func(p *printed){
		"longer":  func(p *printed) { p.write(t, "1/model.onnx", "weights and more") },
		"removed": func(p *printed) { require.NoError(t, os.Remove(filepath.Join(p.home, "1/more/part"))) },
		"added":   func(p *printed) { p.write(t, "1/new", "") },
		"top":     func(p *printed) { p.write(t, "other", "x") },
		"no dir":  func(p *printed) { require.NoError(t, os.RemoveAll(p.home)) },
		"swapped": func(p *printed) {
			require.NoError(t, os.Rename(filepath.Join(p.home, "1"), filepath.Join(p.home, "3")))
			require.NoError(t, os.Rename(filepath.Join(p.home, "2"), filepath.Join(p.home, "1")))
		},
	} {
		one, why := fingerprintOf(t, modelFiles, noChange, during)
		require.Error(t, why, name)
		two, _ := fingerprintOf(t, modelFiles, noChange, during)
		require.NotEqual(t, one, two, name)
	}
	_, why := fingerprintOf(t, modelFiles, noChange, func(p *printed) { p.write(t, "2/model.onnx", "another version's") })
	require.NoError(t, why)
	_, why = fingerprintOf(t, modelFiles, noChange, func(p *printed) { p.write(t, "1/__pycache__/model.pyc", "compiled while it loads") })
	require.NoError(t, why)
}

// TestFingerprintOfEnsembles is made of its parts'.
func TestFingerprintOfEnsembles(t *testing.T) {
	t.Parallel()
	part := func(change func(p *printed)) *fingerprint {
		p := newPrinted(t, "p", modelFiles)
		change(p)
		return p.load(noChange)
	}
	of := func(parts ...*fingerprint) string {
		f := ensembleFingerprint(parts)
		f.Complete("e", "1", &inferencepb.ModelConfig{})
		return f.Text()
	}
	other := func(p *printed) { p.write(t, "1/model.onnx", "other") }
	base := of(part(noChange), part(noChange))
	require.Equal(t, base, of(part(noChange), part(noChange)), "other loads of the same parts")
	require.NotEqual(t, base, of(part(noChange), part(other)))
	require.NotEqual(t, of(part(other), part(noChange)), of(part(noChange), part(other)), "in other places")
	unread := func(p *printed) { require.NoError(t, os.Symlink("nowhere", filepath.Join(p.home, "1", "x"))) }
	require.NotEqual(t, of(part(unread)), of(part(unread)), "of composing models with random fingerprints")
}

// TestFingerprintOfLinks: the target of a link counts as if it were in place of the link.
func TestFingerprintOfLinks(t *testing.T) {
	t.Parallel()
	link := func(to, at string) { require.NoError(t, os.Symlink(to, at)) }
	plain := map[string]string{"model.onnx": "weights", "more/part": "x"}
	real := filesOf(t, plain)
	files := map[string]string{}
	for name, text := range plain {
		files["1/"+name] = text
	}
	base, why := fingerprintOf(t, files, noChange, noChange)
	require.NoError(t, why)
	linked, why := fingerprintOf(t, nil, func(p *printed) { link(real, filepath.Join(p.home, "1")) }, noChange)
	require.NoError(t, why)
	require.Equal(t, base, linked)
	inside, why := fingerprintOf(t, map[string]string{"1/model.onnx": "weights"}, func(p *printed) {
		link(filepath.Join(real, "more"), filepath.Join(p.home, "1", "more"))
	}, noChange)
	require.NoError(t, why)
	require.Equal(t, base, inside)
	_, why = fingerprintOf(t, files, func(p *printed) { link(p.home, filepath.Join(p.home, "1", "circle")) }, noChange)
	require.ErrorContains(t, why, "nested more than")
}

// filesOf writes files below a folder.
func filesOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}
