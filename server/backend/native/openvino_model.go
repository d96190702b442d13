//go:build cgo && linux

package native

import (
	"context"
	"sync"

	"triton/pkg/status"
	"triton/server/backend"
)

// openVINOModel is a loaded version. Its instances share the compiled model.
type openVINOModel struct {
	spec     backend.Spec
	path     string
	sig      *backend.Signature
	inputs   []int // the place in the model of each input of the signature
	outputs  []int
	mu       sync.Mutex
	compiled *graph // by the first instance, which says how many there are
}

// AutoComplete adds the inputs and outputs of the model.
func (e *openVINO) AutoComplete(_ context.Context, spec backend.Spec) error {
	if namesTensors(spec.Config) {
		return nil
	}
	path, err := e.prepare(spec)
	if err != nil {
		return err
	}
	g, err := readGraph(path, parseOpenVINOOptions(spec, 1))
	if err != nil {
		return err
	}
	defer g.free()
	return completeConfig(spec, portTensors(g.inputs), portTensors(g.outputs))
}

func portTensors(ports []port) []modelTensor {
	var list []modelTensor
	for _, p := range ports {
		list = append(list, p.modelTensor)
	}
	return list
}

// prepare finds the model file and opens the library.
func (e *openVINO) prepare(spec backend.Spec) (string, error) {
	path, err := modelFile(spec, "model.xml", "model.onnx")
	if err != nil {
		return "", err
	}
	return path, e.open(spec.Settings)
}

// Load finds the model. It is compiled for its first instance.
func (e *openVINO) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	path, err := e.prepare(spec)
	if err != nil {
		return nil, err
	}
	return &openVINOModel{spec: spec, path: path, sig: backend.NewFullSignature(spec.Config)}, nil
}

// compile reads and compiles the model once. The caller holds mu.
func (m *openVINOModel) compile(instances int) (*graph, error) {
	o := parseOpenVINOOptions(m.spec, instances)
	g, err := readGraph(m.path, o)
	if err != nil {
		return nil, err
	}
	if err := m.fit(g, o); err != nil {
		g.free()
		return nil, err
	}
	return g, nil
}

// fit compiles a model that was read and checks it against the configuration.
func (m *openVINOModel) fit(g *graph, o openVINOOptions) error {
	shapes, err := o.shapes(m.spec, g.inputs)
	if err != nil {
		return err
	}
	if shapes != nil {
		if err := g.reshape(shapes); err != nil {
			return err
		}
	}
	if len(m.sig.Inputs) != len(g.inputs) {
		return status.New(status.InvalidArg, "unable to load model '%s', configuration expects %d inputs, model provides %d", m.spec.Name, len(m.sig.Inputs), len(g.inputs))
	}
	if m.inputs, err = matchPorts(m.spec, "input", m.sig.Inputs, g.inputs); err != nil {
		return err
	}
	if m.outputs, err = matchPorts(m.spec, "output", m.sig.Outputs, g.outputs); err != nil {
		return err
	}
	return g.compile(o)
}

// NewInstance returns an instance with a request of its own to the compiled model.
func (m *openVINOModel) NewInstance(_ context.Context, at backend.Placement) (backend.Instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.compiled == nil {
		g, err := m.compile(at.Instances)
		if err != nil {
			return nil, err
		}
		m.compiled = g
	}
	r, err := newOpenVINORun(m)
	if err != nil {
		return nil, err
	}
	return newInstance(m.spec, m.sig, at, r), nil
}

// Close frees the compiled model.
func (m *openVINOModel) Close() error {
	if m.compiled != nil {
		m.compiled.free()
		m.compiled = nil
	}
	return nil
}
