package perf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"triton/perf/data"
	"triton/pkg/client"
	"triton/pkg/tensor"
)

// SetupError is a failure before any load.
type SetupError struct {
	What string // the failed step in perf_analyzer's words, or empty
	Err  error
	Data bool // the input data caused it
}

func (e *SetupError) Error() string {
	if e.What == "" {
		return e.Err.Error()
	}
	return e.What + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *SetupError) Unwrap() error { return e.Err }

// sharingFailed is the step that sets up shared memory.
const sharingFailed = "Unable to init infer data manager"

// setupError returns err as a SetupError about the input data, unless it is one already.
func setupError(what string, err error) error {
	if own := (*SetupError)(nil); errors.As(err, &own) {
		return err
	}
	return &SetupError{What: what, Err: err, Data: true}
}

// modelID names a model; an empty version means that the server chooses.
type modelID struct{ name, version string }

// model describes the model under test, as the server reports it.
type model struct {
	signature data.Signature
	maxBatch  int
	ensemble  bool
	decoupled bool
	sequence  bool                  // it, or a model of the ensemble, has sequence batching
	composing map[modelID][]modelID // composing models, by ensemble
	cached    map[string]bool       // by name: uses the response cache
}

func (m *model) anyCache() bool {
	for _, c := range m.cached {
		if c {
			return true
		}
	}
	return false
}

// discover describes the model under test.
func (r *run) discover(ctx context.Context) error {
	var err error
	switch c := r.client.(type) {
	case Describer:
		r.model, err = describe(ctx, c, &r.settings.Config)
	case Server:
		r.server = c
		r.model, err = discover(ctx, c, &r.settings.Config)
	default:
		err = fmt.Errorf("perf: a %T describes no model", c)
	}
	return err
}

// describe asks a target that knows the model without metadata.
func describe(ctx context.Context, c Describer, run *Config) (*model, error) {
	d, err := c.Describe(ctx, run.Model, run.Version, run.Batching)
	if err != nil {
		return nil, &SetupError{What: "failed to create model parser", Err: err}
	}
	return &model{
		signature: data.Signature{Model: run.Model, Version: run.Version, Inputs: d.Inputs, Outputs: d.Outputs, Batching: d.MaxBatch > 0},
		maxBatch:  d.MaxBatch,
	}, nil
}

// discover reads the metadata and the configuration of a model from the server.
func discover(ctx context.Context, c Server, run *Config) (*model, error) {
	name, version := run.Model, run.Version
	meta, err := c.ModelMetadata(ctx, name, version)
	if err != nil {
		return nil, &SetupError{What: "failed to get model metadata", Err: err}
	}
	config, err := c.ModelConfig(ctx, name, version)
	if err != nil {
		return nil, &SetupError{What: "failed to get model config", Err: err}
	}
	m := &model{
		maxBatch:  int(config.GetMaxBatchSize()),
		composing: map[modelID][]modelID{},
		cached:    map[string]bool{},
	}
	m.signature = data.Signature{Model: meta.GetName(), Version: version, Batching: m.maxBatch > 0}
	if m.signature.Inputs, err = m.tensors(meta.GetInputs(), "input"); err != nil {
		return nil, err
	}
	if m.signature.Outputs, err = m.tensors(meta.GetOutputs(), "output"); err != nil {
		return nil, err
	}
	if err := m.refine(config); err != nil {
		return nil, err
	}
	if err := m.addComposing(ctx, c, run.Composing); err != nil {
		return nil, &SetupError{What: "failed to create model parser", Err: err}
	}
	m.decoupled = config.Decoupled()
	m.ensemble, m.sequence = config.GetPlatform() == "ensemble" || len(run.Composing) > 0, config.GetSequenceBatching() != nil
	if err := m.expand(ctx, c, modelID{m.signature.Model, version}, config, nil); err != nil {
		return nil, &SetupError{What: "failed to create model parser", Err: err}
	}
	return m, nil
}

func (m *model) tensors(list []*client.TensorMetadata, what string) ([]data.Tensor, error) {
	all := make([]data.Tensor, 0, len(list))
	for _, t := range list {
		dt, ok := tensor.ParseDataType(t.GetDatatype())
		if !ok {
			return nil, &SetupError{Err: fmt.Errorf("%s %s has the unknown data type %q", what, t.GetName(), t.GetDatatype())}
		}
		shape := tensor.Shape(t.GetShape())
		if m.maxBatch > 0 && len(shape) > 0 {
			shape = shape[1:]
		}
		all = append(all, data.Tensor{Name: t.GetName(), DataType: dt, Shape: shape.Clone()})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, nil
}

// refine adds the properties of tensors that only the configuration has: whether they are
// optional or shape tensors.
func (m *model) refine(config *client.ModelConfig) error {
	for _, in := range config.GetInput() {
		t := findTensor(m.signature.Inputs, in.GetName())
		if t == nil {
			return &SetupError{What: "failed to create model parser", Err: fmt.Errorf("no metadata found for input tensor %s", in.GetName())}
		}
		t.Optional, t.ShapeTensor = in.GetOptional(), in.GetIsShapeTensor()
	}
	for _, out := range config.GetOutput() {
		t := findTensor(m.signature.Outputs, out.GetName())
		if t == nil {
			return &SetupError{What: "failed to create model parser", Err: fmt.Errorf("no metadata found for output tensor %s", out.GetName())}
		}
		t.ShapeTensor = out.GetIsShapeTensor()
	}
	return nil
}

func findTensor(list []data.Tensor, name string) *data.Tensor {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// addComposing adds the models that the model calls by itself.
func (m *model) addComposing(ctx context.Context, c Server, list []Composing) error {
	self := modelID{m.signature.Model, m.signature.Version}
	for _, named := range list {
		child := modelID{named.Model, named.Version}
		if child == self || slices.Contains(m.composing[self], child) {
			continue
		}
		config, err := c.ModelConfig(ctx, child.name, child.version)
		if err != nil {
			return err
		}
		m.composing[self] = append(m.composing[self], child)
		if err := m.expand(ctx, c, child, config, []modelID{self}); err != nil {
			return err
		}
	}
	return nil
}

// expand adds the composing models of an ensemble to m.composing, recursively. path lists
// the ensembles that contain self, to detect cycles.
func (m *model) expand(ctx context.Context, c Server, self modelID, config *client.ModelConfig, path []modelID) error {
	m.cached[self.name] = config.GetResponseCache().GetEnable()
	if config.GetPlatform() != "ensemble" {
		return nil
	}
	for _, step := range config.GetEnsembleScheduling().GetStep() {
		child := modelID{name: step.GetModelName()}
		if v := step.GetModelVersion(); v >= 0 {
			child.version = fmt.Sprint(v)
		}
		if slices.Contains(path, child) || child == self {
			return fmt.Errorf("ensemble %s contains itself", child.name)
		}
		if slices.Contains(m.composing[self], child) {
			continue
		}
		m.composing[self] = append(m.composing[self], child)
		childConfig, err := c.ModelConfig(ctx, child.name, child.version)
		if err != nil {
			return err
		}
		m.sequence = m.sequence || childConfig.GetSequenceBatching() != nil
		if err := m.expand(ctx, c, child, childConfig, append(path, self)); err != nil {
			return err
		}
	}
	return nil
}
