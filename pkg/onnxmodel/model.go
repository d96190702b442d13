// Package onnxmodel reads what a server needs from an ONNX file (its inputs, outputs and origin) without ONNX Runtime and
// without reading the weights, and writes ONNX files. It does not run, check or change graphs. CompleteConfig and
// CheckConfig match a model configuration with such an outline, with the texts of Triton's ONNX Runtime backend; server,
// linter and scaffold share them, so they agree.
package onnxmodel

import "slices"

// Model is the outline of an ONNX file.
type Model struct {
	IRVersion       int64
	Producer        string
	ProducerVersion string
	Domain          string
	Version         int64
	Opsets          []Opset
	// Metadata holds the model's own key-value pairs, except values over 64
	// KiB.
	Metadata map[string]string

	Graph string
	// Inputs are the graph inputs that a request must give: those without an
	// initializer.
	Inputs []Value
	// Overridable are the graph inputs with an initializer as default value,
	// which a request may replace. Before IR version 4 there are none: then
	// every initializer had to be listed as an input.
	Overridable []Value
	Outputs     []Value
	// Inferred reports that ONNX Runtime derived the types and shapes of
	// outputs from the graph; otherwise they are the declarations in the file.
	Inferred bool
	// Initializers are the names of the graph's weights, in file order.
	Initializers []string
	// Parameters is the number of elements of all initializers.
	Parameters int64
	// External lists the files with weights next to the model, each once.
	External []string
	Nodes    int
}

// Opset is one operator set that the model uses; Domain "" is ONNX's own.
type Opset struct {
	Domain  string
	Version int64
}

// Value is an input or output of a graph.
type Value struct {
	Name string
	Kind Kind
	// Elem, Ranked, Dims and Symbols are set for (sparse) tensors only.
	Elem ElemType
	// Ranked reports that the file gives a shape. A scalar is ranked and has no
	// dims; without a rank Dims is meaningless.
	Ranked bool
	// Dims has -1 for each dimension that may vary.
	Dims []int64
	// Symbols has the name of each dimension, "" for none; it is as long as
	// Dims. Equal names mean equal sizes.
	Symbols []string
}

// Tensor makes a tensor value for writing. A dimension is an int or int64 (-1
// for unknown) or a string, the name of a dimension that varies.
func Tensor(name string, elem ElemType, dims ...any) Value {
	v := Value{Name: name, Kind: KindTensor, Elem: elem, Ranked: true}
	for _, d := range dims {
		n, symbol := int64(-1), ""
		switch d := d.(type) {
		case int:
			n = int64(d)
		case int64:
			n = d
		case string:
			symbol = d
		}
		v.Dims = append(v.Dims, n)
		v.Symbols = append(v.Symbols, symbol)
	}
	return v
}

// Input returns the graph input of this name, required or overridable. It reports false
// if there is none.
func (m *Model) Input(name string) (Value, bool) {
	if v, ok := find(m.Inputs, name); ok {
		return v, true
	}
	return find(m.Overridable, name)
}

// Output returns the graph output of this name. It reports false if there is none.
func (m *Model) Output(name string) (Value, bool) { return find(m.Outputs, name) }

func find(values []Value, name string) (Value, bool) {
	i := slices.IndexFunc(values, func(v Value) bool { return v.Name == name })
	if i < 0 {
		return Value{}, false
	}
	return values[i], true
}
