// Package onnx is the backend "onnxruntime". It opens ONNX Runtime's shared library
// when the first model needs it and runs batches in sessions. The binding
// yalue/onnxruntime_go creates the environment of the process; sessions, runs and
// values are a thin C layer of our own over the same function table (ort.h), with one
// call per batch. Inputs are read in place and outputs are returned without a copy;
// docs/adr/0018-onnxruntime-binding.md has the reasons. Without cgo, Load returns an
// error that says so.
//
// It does not read ONNX files; pkg/onnxmodel does.
package onnx

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// Name is the name of this backend in configurations.
const Name = "onnxruntime"

// defaultFile is the model file if the configuration names none.
const defaultFile = "model.onnx"

// Backend loads ONNX models. Its methods are safe for concurrent use and open the
// library when they need it.
type Backend struct {
	search Search
	reader Reader
}

// Reader reads the file of a model that ONNX Runtime is to open from memory, such as one that is
// encrypted. It returns nil for a file that ONNX Runtime reads itself. It may be called by several
// goroutines. External data is read by ONNX Runtime from the folder of the file.
type Reader func(path string) ([]byte, error)

var (
	_ backend.Backend       = (*Backend)(nil)
	_ backend.AutoCompleter = (*Backend)(nil)
)

// New returns the backend; search says where to look for the library.
func New(search Search) *Backend { return &Backend{search: search} }

// NewWithReader returns the backend; read reads the files of its models.
func NewWithReader(search Search, read Reader) *Backend {
	return &Backend{search: search, reader: read}
}

// readModel returns the content of a model's file, or nil if ONNX Runtime is to read it.
func (b *Backend) readModel(path string) ([]byte, error) {
	if b.reader == nil {
		return nil, nil
	}
	data, err := b.reader(path)
	if err != nil {
		return nil, status.New(status.Unavailable, "reading the model file '%s': %w", path, err)
	}
	return data, nil
}

// AutoComplete fills the missing fields of the configuration from the model as ONNX
// Runtime sees it. A complete configuration opens no session.
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
	if onnxmodel.NeedsCompletion(spec.Config) {
		if graph, err = b.outline(spec, path); err != nil {
			return err
		}
		if err := onnxmodel.OnlyTensors(graph); err != nil { // in the order of the file, as Triton does
			return err
		}
	}
	graph.Inputs, graph.Outputs = inHashOrder(graph.Inputs), inHashOrder(graph.Outputs)
	notes, err := onnxmodel.CompleteConfig(spec.Config, graph, batch)
	for _, note := range notes {
		level := slog.LevelWarn
		if strings.HasPrefix(note, "skipping") {
			level = slog.LevelInfo
		}
		spec.Log.Log(ctx, level, note)
	}
	return err
}

// inHashOrder returns the values in the order in which Triton lists a graph's inputs or
// outputs.
func inHashOrder(values []onnxmodel.Value) []onnxmodel.Value {
	names := make([]string, len(values))
	for i := range values {
		names[i] = values[i].Name
	}
	out := make([]onnxmodel.Value, 0, len(values))
	for _, i := range tensor.HashOrder(names) {
		out = append(out, values[i])
	}
	return out
}

// outline returns the graph's signature as ONNX Runtime sees it. The file alone is not
// enough: ONNX Runtime infers shapes that the file leaves open, and drops declared
// shapes that it finds wrong. Without the library the model cannot serve, so the file's
// own declarations are good enough.
func (b *Backend) outline(spec backend.Spec, path string) (*onnxmodel.Model, error) {
	opened, err := b.inspect(spec, path)
	if !errors.Is(err, backend.ErrNoLibrary) {
		return opened, err
	}
	graph, err := b.declared(path)
	if err != nil {
		return nil, status.New(status.Internal, "model '%s': %w", spec.Name, err)
	}
	return graph, nil
}

// declared reads the signature that the file declares.
func (b *Backend) declared(path string) (*onnxmodel.Model, error) {
	data, err := b.readModel(path)
	if err != nil {
		return nil, err
	}
	return outlineOf(path, data)
}

// modelPath returns the path of the model's file. A directory stands for the model.onnx
// in it; the model's external data is beside that.
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
	if err := onnxmodel.OnlyTensors(graph); err != nil {
		return err
	}
	return modelconfig.FirstError(onnxmodel.CheckConfig(spec.Config, graph))
}

// providerHint returns the error for an execution provider that the library lacks, with
// what to do about it.
func providerHint(model, provider, library string, have []string) error {
	return status.New(status.Unsupported,
		"model '%s' asks for a GPU, but the ONNX Runtime library %s has no %s (it has %s): use a library with CUDA (pip download onnxruntime-gpu) or run the model on the CPU with instance_group [ { kind: KIND_CPU } ]",
		model, library, provider, strings.Join(have, ", "))
}
