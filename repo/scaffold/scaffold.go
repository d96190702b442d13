// Package scaffold makes a model directory for a model file (ONNX, TorchScript, OpenVINO's IR,
// model.py) or a TensorFlow SavedModel: the version directory with the model, and the
// config.pbtxt that a server would complete by itself, written out for editing. It replaces
// nothing unless Options.Force is set. It runs no framework.
package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
	"triton/pkg/onnxmodel/autofill"
)

// Options configure Write.
type Options struct {
	// Name of the model; empty takes it from the file's name.
	Name string
	// Output is the repository to put the model into.
	Output string
	// MaxBatchSize is written if it is not nil. Otherwise it is the value that
	// a server would choose, with DefaultMaxBatch for a graph that can batch.
	MaxBatchSize    *int
	DefaultMaxBatch int
	// Link makes symbolic links to the model file instead of copies.
	Link bool
	// Force replaces an existing configuration and model file.
	Force bool
}

// Result describes the model directory that was made.
type Result struct {
	Name  string
	Files []string
	Notes []string
}

const version = "1"

// Write makes the model directory for a file of a format that its name tells (.py, .pt, .xml), a
// folder with a SavedModel, or else an ONNX file.
func Write(file string, o Options) (res Result, err error) {
	if filepath.Base(file) == savedModelFile {
		file = filepath.Dir(file)
	}
	if o.Name == "" {
		if o.Name, err = nameOf(file); err != nil {
			return Result{}, err
		}
	}
	if err := checkName(o.Name); err != nil {
		return Result{}, err
	}
	var d *described
	switch info, failed := os.Stat(file); {
	case failed == nil && info.IsDir():
		d, err = describeSavedModel(file)
	case filepath.Ext(file) == ".py":
		return writePython(file, o)
	case filepath.Ext(file) == ".pt":
		d, err = describeTorchScript(file)
	case filepath.Ext(file) == ".xml":
		d, err = describeOpenVINO(file)
	default:
		return writeONNX(file, o)
	}
	if err != nil {
		return Result{}, err
	}
	return writeDescribed(d, o)
}

func writeONNX(file string, o Options) (Result, error) {
	graph, err := onnxmodel.ReadFile(file)
	switch ext := filepath.Ext(file); {
	case err == nil:
	case ext == ".onnx" || errors.Is(err, fs.ErrNotExist):
		return Result{}, err
	default:
		return Result{}, fmt.Errorf("%w; a file that is not ONNX must be .py, .pt (TorchScript), .xml (OpenVINO) or a SavedModel's folder", err)
	}
	cfg, notes, err := Config(graph, o)
	if err != nil {
		return Result{}, err
	}
	res := Result{Name: o.Name, Notes: notes}
	dir := filepath.Join(o.Output, o.Name)
	config := filepath.Join(dir, modelconfig.FileName)
	plan, err := placements(file, filepath.Join(dir, version), graph)
	if err != nil {
		return Result{}, err
	}
	if !o.Force {
		if err := absent(append(targets(plan), config)...); err != nil {
			return Result{}, err
		}
	}
	return install(res, plan, config, modelconfig.Encode(cfg), o.Link)
}

// Config returns the configuration that a server would complete for the graph, without
// the parts that depend on the server's machine.
func Config(graph *onnxmodel.Model, o Options) (*inferencepb.ModelConfig, []string, error) {
	cfg := &inferencepb.ModelConfig{Name: o.Name, Backend: "onnxruntime"}
	if o.MaxBatchSize != nil {
		cfg.MaxBatchSize = int32(*o.MaxBatchSize)
	}
	batch := o.DefaultMaxBatch
	if o.MaxBatchSize != nil {
		batch = 0
	}
	notes, err := autofill.Complete(cfg, graph, batch)
	if err != nil {
		return nil, nil, err
	}
	if o.MaxBatchSize != nil {
		notes = nil // nothing was chosen
	}
	c := modelconfig.New(modelconfig.FileName, cfg)
	found := c.ValidateIO()
	found = append(found, autofill.Check(cfg, graph)...)
	return cfg, notes, modelconfig.FirstError(found)
}

// nameOf derives a model's name from the path of its file. The file NAME/1/model.onnx
// of a repository has the name NAME.
func nameOf(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(abs), filepath.Ext(abs))
	if name != "model" {
		return name, nil
	}
	dir := filepath.Dir(abs)
	if strings.Trim(filepath.Base(dir), "0123456789") == "" {
		dir = filepath.Dir(dir)
	}
	if name = filepath.Base(dir); name == string(filepath.Separator) || name == "." {
		return "", errors.New("the model's name cannot be derived from the file's name: give the model a name")
	}
	return name, nil
}

func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return fmt.Errorf("%q cannot be a model's name: it is the name of a directory", name)
	}
	return nil
}

func absent(paths ...string) error {
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil {
			return fmt.Errorf("%s: %w", p, fs.ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
