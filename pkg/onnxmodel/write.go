package onnxmodel

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// File is an ONNX file to write.
type File struct {
	IRVersion       int64
	Producer        string
	ProducerVersion string
	Opsets          []Opset
	Metadata        map[string]string
	Graph           string
	Nodes           []Node // in an order in which they can run
	Inputs, Outputs []Value
	Weights         []Weight
}

// Node is one operation of a graph.
type Node struct {
	Op      string
	Name    string
	Domain  string
	Inputs  []string // "" leaves an optional input out
	Outputs []string
	Attrs   []Attr
}

// Write writes the file. The same File gives the same bytes. Weights are generated one
// after the other while they are written, so memory holds the graph but never the
// weights.
func (f *File) Write(w io.Writer) error {
	head := f.graphHead()
	tail := f.graphTail()
	size := int64(len(head) + len(tail))
	heads := make([][]byte, len(f.Weights))
	for i, weight := range f.Weights {
		h, err := weight.head()
		if err != nil {
			return fmt.Errorf("write ONNX model: weight %q: %w", weight.Name, err)
		}
		heads[i] = h
		size += int64(fieldSize(5, len(h)+int(weight.bytes())))
	}
	if size > math.MaxInt32 {
		return fmt.Errorf("write ONNX model: %d bytes, more than the 2 GiB that an ONNX file can hold", size)
	}
	out := bufio.NewWriterSize(w, 256<<10)
	b := f.modelHead()
	b = protowire.AppendTag(b, 7, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	_, _ = out.Write(append(b, head...)) // bufio keeps the first error for Flush
	for i, weight := range f.Weights {
		b := protowire.AppendTag(nil, 5, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(len(heads[i]))+uint64(weight.bytes()))
		_, _ = out.Write(append(b, heads[i]...))
		if err := weight.fill(out); err != nil {
			return fmt.Errorf("write ONNX model: weight %q: %w", weight.Name, err)
		}
	}
	_, _ = out.Write(tail)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write ONNX model: %w", err)
	}
	return nil
}

// modelHead is ModelProto without its graph.
func (f *File) modelHead() []byte {
	b := appendInt(nil, 1, f.IRVersion)
	b = appendText(b, 2, f.Producer)
	b = appendText(b, 3, f.ProducerVersion)
	for _, o := range f.Opsets {
		set := appendText(nil, 1, o.Domain)
		b = appendBytes(b, 8, appendInt(set, 2, o.Version))
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		pair := appendText(nil, 1, key)
		b = appendBytes(b, 14, appendText(pair, 2, f.Metadata[key]))
	}
	return b
}

// graphHead returns the fields of GraphProto before the weights, graphTail those after
// them.
func (f *File) graphHead() []byte {
	var b []byte
	for _, n := range f.Nodes {
		b = appendBytes(b, 1, n.encode())
	}
	return appendText(b, 2, f.Graph)
}

func (f *File) graphTail() []byte {
	var b []byte
	for _, v := range f.Inputs {
		b = appendBytes(b, 11, v.encode())
	}
	for _, v := range f.Outputs {
		b = appendBytes(b, 12, v.encode())
	}
	return b
}

func (n Node) encode() []byte {
	var b []byte
	for _, s := range n.Inputs {
		b = appendBytes(b, 1, []byte(s)) // an empty name means an absent input
	}
	for _, s := range n.Outputs {
		b = appendBytes(b, 2, []byte(s))
	}
	b = appendText(b, 3, n.Name)
	b = appendText(b, 4, n.Op)
	for _, a := range n.Attrs {
		b = appendBytes(b, 5, a.encoded)
	}
	return appendText(b, 7, n.Domain)
}

// encode returns the ValueInfoProto of a tensor or a sequence of tensors; other kinds
// are written without a type.
func (v Value) encode() []byte {
	b := appendText(nil, 1, v.Name)
	if v.Kind == KindSequence {
		tensor := appendBytes(nil, 1, appendInt(nil, 1, int64(v.Elem)))
		return appendBytes(b, 2, appendBytes(nil, 4, appendBytes(nil, 1, tensor)))
	}
	if v.Kind != KindTensor {
		return b
	}
	t := appendInt(nil, 1, int64(v.Elem))
	if v.Ranked {
		var shape []byte
		for i, size := range v.Dims {
			var dim []byte
			switch {
			case size >= 0:
				dim = appendInt(nil, 1, size)
			case i < len(v.Symbols):
				dim = appendText(nil, 2, v.Symbols[i])
			}
			shape = appendBytes(shape, 1, dim)
		}
		t = appendBytes(t, 2, shape)
	}
	return appendBytes(b, 2, appendBytes(nil, 1, t))
}

func appendInt(b []byte, num protowire.Number, v int64) []byte {
	b = protowire.AppendTag(b, num, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(v))
}

func appendBytes(b []byte, num protowire.Number, v []byte) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendBytes(b, v)
}

// appendText leaves an empty text out.
func appendText(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendString(b, s)
}

func fieldSize(num protowire.Number, payload int) int {
	return protowire.SizeTag(num) + protowire.SizeBytes(payload)
}
