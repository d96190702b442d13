//go:build cgo && linux

package native

import (
	"context"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// treesModel is a loaded version. Its instances share the forest.
type treesModel struct {
	spec     backend.Spec
	sig      *backend.Signature
	forest   *forest
	rule     outputRule
	classify bool
}

// AutoComplete adds the tensors of the forest.
func (e *trees) AutoComplete(_ context.Context, spec backend.Spec) error {
	if namesTensors(spec.Config) {
		return nil
	}
	f, s, err := e.load(spec)
	if err != nil {
		return err
	}
	defer f.free()
	return e.complete(spec, s, f.forestTraits)
}

func (e *trees) load(spec backend.Spec) (*forest, treesSettings, error) {
	s, err := e.settings(spec.Config)
	if err != nil {
		return nil, s, err
	}
	path, err := modelFile(spec, s.files...)
	if err != nil {
		return nil, s, err
	}
	if err := e.open(s.kind, spec.Settings); err != nil {
		return nil, s, err
	}
	f, err := loadForest(s, path)
	return f, s, err
}

// Load reads the forest, which all instances share.
func (e *trees) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	if err := checkTreesTypes(spec.Config); err != nil || !namesTensors(spec.Config) {
		return nil, status.New(status.Unsupported, "model '%s' must have one input of TYPE_FP32 and one output of TYPE_FP32, TYPE_FP64, TYPE_INT32 or TYPE_INT64; runtime: \"model.py\" runs it in Python", spec.Name)
	}
	f, s, err := e.load(spec)
	if err != nil {
		return nil, err
	}
	m := &treesModel{spec: spec, sig: backend.NewFullSignature(spec.Config), forest: f, classify: e.classifies(spec.Config, f.classifier)}
	m.rule = outputRule{proba: s.proba, threshold: s.threshold, last: 1}
	if dims := m.sig.Outputs[0].BackendShape(); len(dims) > 0 {
		m.rule.last = dims[len(dims)-1]
	}
	if in := m.sig.Inputs[0].BackendShape(); m.sig.Batching && len(in) == 1 && in[0] >= 0 && in[0] != int64(f.features) && s.kind != lightgbm {
		f.free()
		return nil, status.New(status.InvalidArg, "unable to load model '%s', configuration expects dims %v for input '%s', the forest has %d features",
			spec.Name, in, m.sig.Inputs[0].Name, f.features)
	}
	if len(m.sig.Inputs) != 1 || len(m.sig.Outputs) != 1 {
		f.free()
		return nil, status.New(status.Unsupported, "model '%s': forests take no control inputs and have no states", spec.Name)
	}
	return m, nil
}

// NewInstance returns an instance over the shared forest.
func (m *treesModel) NewInstance(_ context.Context, at backend.Placement) (backend.Instance, error) {
	p, err := m.forest.prediction()
	if err != nil {
		return nil, err
	}
	r := &treesRunner{model: m, forestPrediction: p, results: make([]result, 1)}
	return newInstance(m.spec, m.sig, at, r), nil
}

// Close frees the forest.
func (m *treesModel) Close() error {
	m.forest.free()
	return nil
}

// treesRunner predicts the batches of one instance.
type treesRunner struct {
	*forestPrediction
	model   *treesModel
	classes []float64
	out     []byte
	shape   tensor.Shape
	results []result
}

var _ runner = (*treesRunner)(nil)

// Run predicts the rows.
func (r *treesRunner) Run(rows int, inputs []backend.Gathered, _ []bool) ([]result, error) {
	m, in, out := r.model, inputs[0], &r.model.sig.Outputs[0]
	if !in.Present {
		return nil, status.New(status.InvalidArg, "input '%s' is missing", m.sig.Inputs[0].Name)
	}
	if !m.sig.Batching && len(in.Shape) > 0 {
		rows = int(in.Shape[0])
	}
	columns := 0
	if rows > 0 {
		columns = len(in.Bytes) / 4 / rows
	}
	if rows == 0 || columns != m.forest.features {
		return nil, status.New(status.InvalidArg, "input '%s' of shape %v has %d values in a row, the model '%s' takes %d",
			m.sig.Inputs[0].Name, in.Shape, columns, m.spec.Name, m.forest.features)
	}
	y, err := r.predict(in.Bytes, rows, columns)
	if err != nil {
		return nil, err
	}
	width := len(y) / rows
	if m.forest.margin && width > 0 {
		softmax(y, width)
	}
	if m.classify {
		y, width = m.rule.apply(r.classes[:0], y, width)
		r.classes = y
	}
	if r.shape, err = m.fit(r.shape[:0], out, rows, width); err != nil {
		return nil, err
	}
	r.out = encodeOutput(r.out[:0], out.DataType, y)
	r.results[0] = result{Shape: r.shape, Bytes: r.out}
	return r.results, nil
}

// fit appends the shape of the output: the configured dims of a model that batches.
func (m *treesModel) fit(dst tensor.Shape, out *backend.Value, rows, width int) (tensor.Shape, error) {
	dims := out.BackendShape()
	n, err := dims.Elements()
	if !m.sig.Batching || err != nil || n < 0 {
		return append(dst, int64(rows), int64(width)), nil
	}
	if n != int64(width) {
		return nil, status.New(status.InvalidArg, "the model has %d values for output '%s', the configuration %v", width, out.Name, dims)
	}
	return append(append(dst, int64(rows)), dims...), nil
}

// Stop has no effect: the libraries cannot end a prediction.
func (r *treesRunner) Stop() {}
