// Package onnx is the backend "onnxruntime": it opens ONNX Runtime's shared
// library when the first model needs it and runs batches over sessions. The
// binding yalue/onnxruntime_go does the process's environment; sessions, runs
// and values are a thin C layer of our own over the same function table
// (ort.h), one call per batch, so that inputs are read where they lie and
// outputs are handed out without a copy. Without cgo the backend exists and
// says why it cannot load.
//
// The package is not for reading ONNX files; that is pkg/onnxmodel.
package onnx

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/hashorder"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
	"triton/pkg/onnxmodel/autofill"
	"triton/pkg/status"
	"triton/server/backend"
)

// Name is what configurations call this backend.
const Name = "onnxruntime"

// defaultFile is the model file when the configuration names none.
const defaultFile = "model.onnx"

// Backend is the engine. Its methods may be called at any time and open the
// library when they need it.
type Backend struct {
	search Search
}

var (
	_ backend.Backend       = (*Backend)(nil)
	_ backend.AutoCompleter = (*Backend)(nil)
)

// New makes the backend; search says where the library is looked for.
func New(search Search) *Backend { return &Backend{search: search} }

// AutoComplete fills what the configuration leaves out with what the engine says
// of the model. A complete configuration opens no session.
func (b *Backend) AutoComplete(ctx context.Context, spec backend.Spec) error {
	path, err := modelPath(spec)
	if err != nil {
		return err
	}
	batch, err := defaultMaxBatch(spec.Settings)
	if err != nil {
		return err
	}
	graph := &onnxmodel.Model{}
	if autofill.Needed(spec.Config) {
		if graph, err = b.outline(ctx, spec, path); err != nil {
			return err
		}
		if err := autofill.OnlyTensors(graph); err != nil { // in the order of the file, as Triton does
			return err
		}
	}
	graph.Inputs, graph.Outputs = inHashOrder(graph.Inputs), inHashOrder(graph.Outputs)
	notes, err := autofill.Complete(spec.Config, graph, batch)
	for _, note := range notes {
		level := slog.LevelWarn
		if strings.HasPrefix(note, "skipping") {
			level = slog.LevelInfo
		}
		spec.Log.Log(ctx, level, note)
	}
	return err
}

// listed is the order in which Triton lists a graph's inputs or outputs.
func inHashOrder(values []onnxmodel.Value) []onnxmodel.Value {
	names := make([]string, len(values))
	for i := range values {
		names[i] = values[i].Name
	}
	out := make([]onnxmodel.Value, 0, len(values))
	for _, i := range hashorder.Of(names) {
		out = append(out, values[i])
	}
	return out
}

// outline returns what the engine makes of the model. The file alone is not
// enough: the engine infers shapes that the file leaves open, and drops declared
// ones that it finds wrong. Without an engine the model will not serve, so what
// the file states will do.
func (b *Backend) outline(ctx context.Context, spec backend.Spec, path string) (*onnxmodel.Model, error) {
	opened, err := b.inspect(ctx, spec, path)
	if !errors.Is(err, backend.ErrNoLibrary) {
		return opened, err
	}
	graph, err := onnxmodel.ReadFile(path)
	if err != nil {
		return nil, status.New(status.Internal, "model '%s': %w", spec.Name, err)
	}
	return graph, nil
}

// modelPath returns the model's file. A directory stands for the model.onnx in it,
// beside which the model's external data lies.
func modelPath(spec backend.Spec) (string, error) {
	file := spec.File
	if file == "" {
		file = defaultFile
	}
	path := filepath.Join(spec.Dir, file)
	info, err := os.Stat(path)
	if err != nil {
		return "", status.New(status.Internal, "failed to stat file %s", path)
	}
	if info.IsDir() {
		path = filepath.Join(path, defaultFile)
		_, err = os.Stat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", status.New(status.Unavailable, "unable to find '%s' for model instance '%s'", path, spec.Name)
	}
	if err != nil {
		return "", status.New(status.Unavailable, "model '%s': %w", spec.Name, err)
	}
	return path, nil
}

// checkGraph compares the configuration with what the opened session declares.
func checkGraph(spec backend.Spec, graph *onnxmodel.Model) error {
	return modelconfig.FirstError(autofill.Check(spec.Config, graph))
}

// providerHint returns what to do about an execution provider that the library
// lacks.
func providerHint(model, provider, library string, have []string) error {
	return status.New(status.Unsupported,
		"model '%s' asks for a GPU, but the ONNX Runtime library %s has no %s (it has %s): use a library with CUDA (pip download onnxruntime-gpu) or run the model on the CPU with instance_group [ { kind: KIND_CPU } ]",
		model, library, provider, strings.Join(have, ", "))
}
