package lsp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/modelconfig/pbtxt"
	"triton/repo"
	"triton/repo/render"
)

// backends are the backends that a configuration may name without a library of its own.
var backends = []string{
	"onnxruntime", "python", "tensorrt", "pytorch", "tensorflow", "openvino", "fil", "identity", "repeat", "square",
}

// platforms are the platforms of the backends, and that of ensembles.
var platforms = []string{
	"ensemble", "onnxruntime_onnx", "tensorrt_plan", "pytorch_libtorch", "tensorflow_savedmodel", "tensorflow_graphdef",
}

// strings suggests texts for a field by its path.
func (s *server) strings(d *document, c cursor) []candidate {
	const step = "ensemble_scheduling.step."
	switch path := c.path + "." + string(c.field.Name()); strings.TrimPrefix(path, ".") {
	case "backend":
		return candidates(backends, itemModule, "")
	case "platform":
		return candidates(platforms, itemModule, "")
	case "name":
		return candidates([]string{filepath.Base(filepath.Dir(d.path))}, itemValue, "the directory")
	case "default_model_filename":
		return candidates(files(d, "*"), itemFile, "")
	case "output.label_filename":
		return candidates(files(d, ""), itemFile, "")
	case "input.name":
		return tensorsOf(s.graph(d)).inputs
	case "output.name":
		return tensorsOf(s.graph(d)).outputs
	case "batch_input.source_input", "batch_output.source_input":
		return tensorsOf(s.own(d)).inputs
	case "batch_output.target_name":
		return tensorsOf(s.own(d)).outputs
	case "parameters.key":
		return candidates(extension.Keys(), itemProperty, "")
	case step + "model_name":
		return candidates(s.neighbors(d), itemModule, "model")
	case step + "input_map.key":
		return tensorsOf(s.composing(d, c)).inputs
	case step + "output_map.key":
		return tensorsOf(s.composing(d, c)).outputs
	case step + "input_map.value", step + "output_map.value":
		return ensembleTensors(d)
	}
	return nil
}

func candidates(texts []string, kind int, detail string) []candidate {
	list := make([]candidate, len(texts))
	for i, t := range texts {
		list[i] = candidate{t, detail, kind}
	}
	return list
}

// files returns the names of the files of the model: those of the version directories, if versions
// is their pattern.
func files(d *document, versions string) []string {
	var names []string
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(d.path), versions, "*"))
	if err != nil {
		return nil // the directory's name is a wrong pattern
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && filepath.Base(path) != modelconfig.FileName {
			names = append(names, filepath.Base(path))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// tensors are the inputs and outputs of a model.
type tensors struct{ inputs, outputs []candidate }

func tensorsOf(c *inferencepb.ModelConfig) (t tensors) {
	for _, in := range c.GetInput() {
		t.inputs = append(t.inputs, candidate{in.Name, tensorType(in.DataType, in.Dims), itemProperty})
	}
	for _, out := range c.GetOutput() {
		t.outputs = append(t.outputs, candidate{out.Name, tensorType(out.DataType, out.Dims), itemProperty})
	}
	return t
}

// graph returns the configuration that follows from the model's files alone.
func (s *server) graph(d *document) *inferencepb.ModelConfig {
	m, err := repo.OpenText(d.path, nil)
	if err != nil {
		return nil
	}
	return s.complete(&m)
}

// own returns the configuration of a document as a server completes it.
func (s *server) own(d *document) *inferencepb.ModelConfig {
	m, err := repo.OpenText(d.path, d.text)
	if err != nil {
		return nil
	}
	return s.complete(&m)
}

func (s *server) complete(m *repo.Model) *inferencepb.ModelConfig {
	r, err := render.Complete(m, render.Options{DefaultMaxBatch: s.options.Lint.DefaultMaxBatch})
	if err != nil {
		return nil
	}
	return r.Config
}

// composing returns the configuration of the model of the step that is being written.
func (s *server) composing(d *document, c cursor) *inferencepb.ModelConfig {
	if len(c.fields) < 2 {
		return nil
	}
	step := c.fields[len(c.fields)-2] // around the map
	m, ok := sibling(filepath.Dir(d.path), scalarOf(step, "model_name"))
	if !ok {
		return nil
	}
	m.Texts = s.texts()
	if c := s.complete(&m); c != nil {
		return c
	}
	m.Texts = map[string][]byte{m.ConfigFile: nil} // the text has mistakes: what the files say is better than nothing
	return s.complete(&m)
}

// texts returns the texts of the open documents by their paths.
func (s *server) texts() map[string][]byte {
	texts := map[string][]byte{}
	for _, open := range s.snapshot() {
		texts[open.path] = open.text
	}
	return texts
}

// scalarOf returns the text of a field; empty if it is not there.
func scalarOf(fields []*pbtxt.Field, name string) string {
	for _, f := range fields {
		if f.Name == name && f.Value != nil && len(f.Value.Parts) > 0 {
			return pbtxt.Unquote(f.Value.Parts[0].Text)
		}
	}
	return ""
}

// neighbors returns the names of the other models of the repository.
func (s *server) neighbors(d *document) []string {
	own := filepath.Dir(d.path)
	models, err := repo.Open(filepath.Dir(own))
	if err != nil {
		return nil
	}
	var names []string
	for _, m := range models {
		if m.Dir != own && !strings.HasPrefix(m.Name, ".") {
			names = append(names, m.Name)
		}
	}
	return names
}

// ensembleTensors returns the tensors of an ensemble: its inputs and outputs, and those between its
// steps.
func ensembleTensors(d *document) []candidate {
	var list []candidate
	add := func(name, detail string) {
		if name != "" && !slices.ContainsFunc(list, func(c candidate) bool { return c.text == name }) {
			list = append(list, candidate{name, detail, itemProperty})
		}
	}
	var walk func(fields []*pbtxt.Field, in string)
	walk = func(fields []*pbtxt.Field, in string) {
		switch in {
		case "input", "output":
			add(scalarOf(fields, "name"), in+" of the ensemble")
		case "output_map":
			add(scalarOf(fields, "value"), "tensor between steps")
		}
		for _, f := range fields {
			if f.Value == nil {
				continue
			}
			walk(f.Value.Fields, f.Name)
			for _, e := range f.Value.Values {
				walk(e.Fields, f.Name)
			}
		}
	}
	walk(pbtxt.Parse(d.text).Fields, "")
	return list
}
