// Package example writes a repository of example models: real network graphs with seeded
// random weights, so that nothing is downloaded and every machine gets the same bytes, and
// one model for each backend that needs no file. A model costs as much as a trained one,
// but its answers are random. On request the package writes trained models instead, from
// published Python packages with known hashes.
package example

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"triton/pkg/onnxmodel"
)

// DefaultSeed is the seed of the models when the user gives none.
const DefaultSeed = 42

// Options say what to write.
type Options struct {
	Seed uint64
	// Models are the names to write, in any order; empty means all that load
	// without a GPU.
	Models []string
	// Force replaces existing model folders.
	Force bool
	// Pipeline writes an ensemble with steps in Python, and the models of its steps,
	// instead of the other seeded models. Some names are the same.
	Pipeline bool
	// Trained writes the trained models instead of the seeded ones. They are extracted
	// from Python packages, which pip fetches.
	Trained bool
	// Python is the interpreter whose pip fetches packages.
	Python string
	// Packages is a folder that keeps fetched packages for later runs; "" keeps
	// none.
	Packages string
	// Written, if set, is called after each model with the bytes on disk.
	Written func(model string, bytes int64)
}

//go:embed configs
var configs embed.FS

// model is one entry of the repository.
type model struct {
	name     string
	config   func() (string, error)
	versions []version
	files    func() (files, error) // further files; nil for none
	calls    []string              // the models that it calls
	gpu      bool                  // it does not load without a GPU
	trained  *pretrained
}

// files are the contents of files by their path in the model's folder, with slashes.
type files map[string][]byte

// version is one numbered folder. build makes its graph from a seed; nil for a folder without
// a graph.
type version struct {
	number string
	build  func(g *graph)
}

// catalog returns every model, in the order in which they are written.
func catalog() []model {
	all := []model{
		{name: "simple", config: storedConfig("simple"), versions: []version{{number: "1", build: buildSimple}}},
		{name: "simple_string", config: storedConfig("simple_string"), versions: []version{{number: "1", build: buildSimpleString}}},
		{name: "text_classifier", config: storedConfig("text_classifier"), versions: []version{{number: "1", build: buildTextClassifier}, {number: "2", build: buildTextClassifier}}},
		{name: "resnet50", config: storedConfig("resnet50"), versions: []version{{number: "1", build: buildResNet50}}},
		{name: "onnx_accumulator", config: storedConfig("onnx_accumulator"), versions: []version{{number: "1", build: buildAccumulator}}},
		{name: "ragged_share", config: storedConfig("ragged_share"), versions: []version{{number: "1", build: buildRagged}}},
	}
	all = append(all, textPipeline()...)
	all = append(all, identities()...)
	for _, name := range []string{
		"custom_identity_int32", "repeat_int32", "square_int32", "custom_sequence_int32", "custom_dyna_sequence_int32",
		"iterative_sequence", "no_state_update", "query",
	} {
		all = append(all, model{name: name, config: storedConfig(name), versions: []version{{number: "1"}}})
	}
	return append(all, model{name: "distributed_addsub", config: storedConfig("distributed_addsub"), versions: []version{{number: "1"}}, gpu: true})
}

// storedConfig returns a function that reads configs/<name>.pbtxt.
func storedConfig(name string) func() (string, error) {
	return func() (string, error) {
		b, err := configs.ReadFile("configs/" + name + ".pbtxt")
		return string(b), err
	}
}

// folder returns the files of a folder of fsys.
func folder(fsys fs.FS, dir string) (files, error) {
	all := files{}
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[strings.TrimPrefix(name, dir+"/")], err = fs.ReadFile(fsys, name)
		}
		return err
	})
	return all, err
}

// Names returns the seeded models that can be written.
func Names() []string { return names(catalog()) }

func names(models []model) []string {
	var list []string
	for _, m := range models {
		list = append(list, m.name)
	}
	return list
}

// Write writes models into the repository folder dir, which it creates if needed. It
// returns an *ExistsError for existing folders, unless o.Force is set. Each model
// appears complete or not at all.
func Write(ctx context.Context, dir string, o Options) error {
	all := catalog()
	switch {
	case o.Pipeline && o.Trained:
		return errors.New("the pipeline and the trained models are two sets: write them one after the other")
	case o.Pipeline:
		all = pipelineCatalog()
	case o.Trained:
		all = trainedCatalog()
	}
	models, err := selectModels(all, o.Models)
	if err != nil {
		return err
	}
	r := repository{dir: dir, force: o.Force, fetch: fetcher{python: o.Python, dir: o.Packages}}
	if err := r.open(models); err != nil {
		return err
	}
	defer r.close()
	for _, m := range models {
		n, err := r.write(ctx, m, o.Seed)
		if err != nil {
			return fmt.Errorf("write model %s: %w", m.name, err)
		}
		if o.Written != nil {
			o.Written(m.name, n)
		}
	}
	return r.close()
}

// selectModels returns the named models, with those that they call, in the order of all. Without
// names it returns the models that load without a GPU.
func selectModels(all []model, wanted []string) ([]model, error) {
	if len(wanted) == 0 {
		return slices.DeleteFunc(all, func(m model) bool { return m.gpu }), nil
	}
	chosen := slices.Clone(wanted)
	for _, name := range wanted {
		at := slices.IndexFunc(all, func(m model) bool { return m.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no example model %q; the models are %s", name, strings.Join(names(all), ", "))
		}
		chosen = append(chosen, all[at].calls...)
	}
	return slices.DeleteFunc(all, func(m model) bool { return !slices.Contains(chosen, m.name) }), nil
}

// newFile returns an ONNX file without operations.
func newFile(name string) onnxmodel.File {
	return onnxmodel.File{
		IRVersion: 8,
		Producer:  "triton repo example",
		Opsets:    []onnxmodel.Opset{{Version: 17}},
		Graph:     name,
	}
}
