// Package scaffold makes a model directory for a model file (ONNX, TorchScript, OpenVINO's IR,
// XGBoost, LightGBM, model.py), for a TensorFlow SavedModel, or for an ensemble of models: the version
// directory with the model, and the config.pbtxt that a server would complete by itself, written out for
// editing. It replaces nothing unless Options.Force is set. It runs no framework.
package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/framework"
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
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
	// Bare leaves out the comments that explain the configuration.
	Bare bool
}

// Result describes the model directory that was made.
type Result struct {
	Name  string
	Files []string
	Notes []string
}

const version = "1"

// Model is a model directory before it is written.
type Model struct {
	name   string
	config *inferencepb.ModelConfig
	files  []placement // relative to the version directory
	source []byte      // of a new model.py, instead of files
	notes  []string
}

// Read describes the model of a file, by its name or its content, or of a SavedModel's folder. It
// writes nothing.
func Read(file string, o Options) (*Model, error) {
	if filepath.Base(file) == framework.SavedModelFile {
		file = filepath.Dir(file)
	}
	if o.Name == "" {
		name, err := nameOf(file)
		if err != nil {
			return nil, err
		}
		o.Name = name
	}
	if err := checkName(o.Name); err != nil {
		return nil, err
	}
	if filepath.Ext(file) == ".py" {
		return readPython(file, o)
	}
	describe, err := describer(file)
	if err != nil {
		return nil, err
	}
	if describe == nil {
		return readONNX(file, o)
	}
	d, err := describe(file)
	if err != nil {
		return nil, err
	}
	return d.model(o)
}

// describer returns the reader for the format of a file; nil for ONNX.
func describer(file string) (func(string) (*described, error), error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return describeFramework, nil
	}
	switch filepath.Ext(file) {
	case ".onnx":
		return nil, nil
	case ".pt", ".xml":
		return describeFramework, nil
	case ".pkl", ".joblib":
		return describeEstimator, nil
	}
	return treesDescriber(file)
}

// Write makes the model directory.
func (m *Model) Write(o Options) (Result, error) {
	dir := filepath.Join(o.Output, m.name)
	config := filepath.Join(dir, modelconfig.FileName)
	plan := make([]placement, len(m.files))
	for i, p := range m.files {
		plan[i] = placement{p.from, filepath.Join(dir, version, p.to)}
	}
	written := append(targets(plan), config)
	source := filepath.Join(dir, version, pythonFile)
	if m.source != nil {
		written = append([]string{source}, written...)
	}
	if !o.Force {
		if err := absent(written...); err != nil {
			return Result{}, err
		}
	}
	res := Result{Name: m.name, Notes: m.notes}
	if m.source != nil {
		if err := replaceText(source, m.source); err != nil {
			return Result{}, err
		}
		res.Files = append(res.Files, source)
	}
	if m.config.GetEnsembleScheduling() != nil { // its version folder is empty
		if err := os.MkdirAll(filepath.Join(dir, version), 0o755); err != nil {
			return Result{}, err
		}
	}
	return install(res, plan, config, m.Text(!o.Bare), o.Link)
}

// Name is the model's name.
func (m *Model) Name() string { return m.name }

// Notes say what to edit, and what was chosen.
func (m *Model) Notes() []string { return m.notes }

func readONNX(file string, o Options) (*Model, error) {
	graph, err := onnxmodel.ReadFile(file)
	switch ext := filepath.Ext(file); {
	case err == nil:
	case ext == ".onnx" || errors.Is(err, fs.ErrNotExist):
		return nil, err
	default:
		return nil, fmt.Errorf("%w; a file that is not ONNX must be .py, .pt (TorchScript), .xml (OpenVINO), an XGBoost or LightGBM model, .pkl or .joblib (scikit-learn) or a SavedModel's folder", err)
	}
	cfg, notes, err := Config(graph, o)
	if err != nil {
		return nil, err
	}
	files, err := placements(file, graph)
	return &Model{name: o.Name, config: cfg, files: files, notes: notes}, err
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
	notes, err := onnxmodel.CompleteConfig(cfg, graph, batch)
	if err != nil {
		return nil, nil, err
	}
	if o.MaxBatchSize != nil {
		notes = nil // nothing was chosen
	}
	c := modelconfig.New(modelconfig.FileName, cfg)
	found := c.ValidateIO()
	found = append(found, onnxmodel.CheckConfig(cfg, graph)...)
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
