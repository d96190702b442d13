package scaffold

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"triton/pkg/framework"
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// described is what the file or the folder of a framework says about a model.
type described struct {
	backend, platform string
	inputs, outputs   []namedTensor
	parameters        map[string]string
	files             []placement // without the version directory
	notes             []string
}

// namedTensor is a tensor with its dims, which include the dimension of the batch. The dims of
// a tensor of unknown rank are an example without it.
type namedTensor struct {
	name    string
	kind    inferencepb.DataType
	dims    []int64
	unknown bool
}

// describeFramework reads a SavedModel's folder, a TorchScript archive or an OpenVINO IR.
func describeFramework(file string) (*described, error) {
	m, err := framework.Read(file)
	if err != nil {
		return nil, err
	}
	names := map[string]string{"pytorch": "model.pt", "openvino": "model.xml", "tensorflow": "model.savedmodel"}
	d := &described{
		backend: m.Backend, platform: m.Platform, inputs: namedTensors(m.Inputs), outputs: namedTensors(m.Outputs),
		parameters: m.Parameters, files: []placement{{file, names[m.Backend]}}, notes: m.Notes,
	}
	if m.Weights != "" {
		d.files = append(d.files, placement{m.Weights, "model.bin"})
	}
	return d, nil
}

func namedTensors(all []framework.Tensor) []namedTensor {
	var list []namedTensor
	for _, t := range all {
		list = append(list, namedTensor{t.Name, t.Type, t.Dims, t.Unknown})
	}
	return list
}

// tensors returns the inputs and the outputs.
func (d *described) tensors() []namedTensor { return slices.Concat(d.inputs, d.outputs) }

// batches reports whether the model may batch: the first dimension of all tensors is open.
func (d *described) batches() bool {
	return !slices.ContainsFunc(d.tensors(), func(t namedTensor) bool {
		return !t.unknown && (len(t.dims) == 0 || t.dims[0] != -1)
	})
}

// guesses reports whether some dims are examples.
func (d *described) guesses() bool {
	return slices.ContainsFunc(d.tensors(), func(t namedTensor) bool { return t.unknown })
}

// model returns the model directory for a model of a framework.
func (d *described) model(o Options) (*Model, error) {
	cfg, err := d.config(o)
	if err != nil {
		return nil, err
	}
	m := &Model{name: o.Name, config: cfg, files: d.files, notes: d.notes}
	if d.guesses() {
		m.notes = append(m.notes, "the model does not say how many dimensions some tensors have: replace dims [ -1 ] in the configuration")
	}
	return m, nil
}

// config returns the configuration.
func (d *described) config(o Options) (*inferencepb.ModelConfig, error) {
	c := &inferencepb.ModelConfig{Name: o.Name, Backend: d.backend, Platform: d.platform}
	open := d.batches()
	switch {
	case o.MaxBatchSize != nil && *o.MaxBatchSize > 0 && !open:
		return nil, fmt.Errorf("the model cannot batch with --max-batch-size %d: the first dimension of some of its tensors is fixed", *o.MaxBatchSize)
	case o.MaxBatchSize != nil:
		c.MaxBatchSize = int32(*o.MaxBatchSize)
	case open && !d.guesses():
		c.MaxBatchSize = int32(o.DefaultMaxBatch)
	}
	dims := func(t namedTensor) []int64 {
		if c.MaxBatchSize > 0 && !t.unknown {
			return t.dims[1:]
		}
		return t.dims
	}
	for _, t := range d.inputs {
		c.Input = append(c.Input, &inferencepb.ModelInput{Name: t.name, DataType: t.kind, Dims: dims(t)})
	}
	for _, t := range d.outputs {
		c.Output = append(c.Output, &inferencepb.ModelOutput{Name: t.name, DataType: t.kind, Dims: dims(t)})
	}
	// A tensor without dimensions is configured as one with a single element.
	for _, in := range c.Input {
		if len(in.Dims) == 0 {
			in.Dims, in.Reshape = []int64{1}, &inferencepb.ModelTensorReshape{}
		}
	}
	for _, out := range c.Output {
		if len(out.Dims) == 0 {
			out.Dims, out.Reshape = []int64{1}, &inferencepb.ModelTensorReshape{}
		}
	}
	if c.MaxBatchSize > 0 {
		c.SchedulingChoice = &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{}}
	}
	for key, value := range d.parameters {
		if c.Parameters == nil {
			c.Parameters = map[string]*inferencepb.ModelParameter{}
		}
		c.Parameters[key] = &inferencepb.ModelParameter{StringValue: value}
	}
	return c, modelconfig.FirstError(modelconfig.New(modelconfig.FileName, c).ValidateIO())
}

// placeTree copies or links a file or a folder.
func placeTree(p placement, link bool) error {
	info, err := os.Stat(p.from)
	if err != nil || !info.IsDir() || link {
		if err != nil {
			return err
		}
		return place(p, link)
	}
	if same(p.from, p.to) {
		return nil
	}
	return filepath.WalkDir(p.from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(p.from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(p.to, rel)
		if e.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file: it cannot be copied", path)
		}
		return place(placement{path, to}, false)
	})
}
