package onnxmodel

import (
	"errors"
	"fmt"
	"io"
	"os"
)

const maxRank = 256

// ReadFile reads the outline of the ONNX file at path. Its memory does not
// depend on the size of the weights, which are skipped unread.
func ReadFile(path string) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // to open a named pipe would wait for ever
		return nil, fmt.Errorf("read ONNX model %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := Read(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("read ONNX model %s: %w", path, err)
	}
	return m, nil
}

// Read reads the outline of an ONNX file of size bytes. Errors contain the byte offset
// and the path of the message.
func Read(r io.ReaderAt, size int64) (*Model, error) {
	d := &decoder{
		scanner: scanner{r: r, size: size, window: make([]byte, 0, windowSize)},
		m:       &Model{},
	}
	if err := d.fields(size, d.model); err != nil {
		return nil, err
	}
	if !d.graphs {
		return nil, errors.New("not an ONNX model: it has no graph")
	}
	d.splitInputs()
	return d.m, nil
}

// decoder fills a Model while the scanner walks.
type decoder struct {
	scanner
	m      *Model
	graphs bool
	inputs []Value // all graph inputs, initializers included
}

// The field numbers below are those of onnx.proto.

func (d *decoder) model(f field) (err error) {
	switch {
	case f.num == 1 && f.varint():
		d.m.IRVersion = int64(f.uint)
	case f.num == 2 && f.message():
		d.m.Producer, err = d.name(f, "producer_name")
	case f.num == 3 && f.message():
		d.m.ProducerVersion, err = d.name(f, "producer_version")
	case f.num == 4 && f.message():
		d.m.Domain, err = d.name(f, "domain")
	case f.num == 5 && f.varint():
		d.m.Version = int64(f.uint)
	case f.num == 7 && f.message():
		d.graphs = true
		err = d.nested(f, "graph", -1, d.graph)
	case f.num == 8 && f.message():
		err = d.opset(f)
	case f.num == 14 && f.message():
		err = d.metadata(f)
	}
	return err
}

func (d *decoder) opset(f field) error {
	var o Opset
	err := d.nested(f, "opset_import", len(d.m.Opsets), func(f field) (err error) {
		switch {
		case f.num == 1 && f.message():
			o.Domain, err = d.name(f, "domain")
		case f.num == 2 && f.varint():
			o.Version = int64(f.uint)
		}
		return err
	})
	if err != nil {
		return err
	}
	if o.Domain == "ai.onnx" {
		o.Domain = ""
	}
	d.m.Opsets = append(d.m.Opsets, o)
	return d.keep(f, 0)
}

func (d *decoder) metadata(f field) error {
	key, value, whole := "", "", true
	err := d.nested(f, "metadata_props", -1, func(f field) (err error) {
		switch {
		case f.num == 1 && f.message():
			key, err = d.name(f, "key")
		case f.num == 2 && f.message():
			value, whole, err = d.text(f)
		}
		return err
	})
	if err != nil || !whole {
		return err
	}
	if d.m.Metadata == nil {
		d.m.Metadata = make(map[string]string)
	}
	d.m.Metadata[key] = value
	return d.keep(f, 64)
}

func (d *decoder) graph(f field) (err error) {
	if !f.message() {
		return nil
	}
	switch f.num {
	case 1:
		d.m.Nodes++
	case 2:
		d.m.Graph, err = d.name(f, "name")
	case 5:
		err = d.initializer(f)
	case 11:
		d.inputs, err = d.value(f, "input", d.inputs)
	case 12:
		d.m.Outputs, err = d.value(f, "output", d.m.Outputs)
	case 15:
		err = d.nested(f, "sparse_initializer", -1, func(f field) error {
			if f.num == 1 && f.message() {
				return d.initializer(f)
			}
			return nil
		})
	}
	return err
}
