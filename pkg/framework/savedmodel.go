package framework

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/inferencepb"
)

// describeSavedModel reads the signatures of a TensorFlow SavedModel in a folder.
func describeSavedModel(dir string) (*described, error) {
	file := filepath.Join(dir, SavedModelFile)
	f, err := openFile(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	graphs, err := readSavedModel(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d := &described{backend: "tensorflow", platform: "tensorflow_savedmodel"}
	if err := d.choose(graphs); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

// metaGraph is one graph of a SavedModel.
type metaGraph struct {
	tags       []string
	signatures map[string]signature
}

type signature struct {
	inputs, outputs []namedTensor
	wrong           error // why it cannot be served
}

const (
	servingTag       = "serve"
	servingSignature = "serving_default"
	initSignature    = "__saved_model_init_op"
)

// choose takes the signature that the backend serves, or the only one.
func (d *described) choose(graphs []metaGraph) error {
	at := slices.IndexFunc(graphs, func(g metaGraph) bool { return slices.Contains(g.tags, servingTag) })
	if at < 0 && len(graphs) == 1 {
		at = 0
	}
	if at < 0 {
		return fmt.Errorf("none of its %d graphs has the tag %q", len(graphs), servingTag)
	}
	all := graphs[at].signatures
	delete(all, initSignature)
	name := servingSignature
	if _, ok := all[name]; !ok {
		names := slices.Sorted(maps.Keys(all))
		if len(names) != 1 {
			return fmt.Errorf("it has no signature %q: it has %s", servingSignature, cmp.Or(strings.Join(names, ", "), "none"))
		}
		name = names[0]
		d.parameters = map[string]string{"TF_SIGNATURE_DEF": name}
	}
	s := all[name]
	if s.wrong != nil {
		return fmt.Errorf("signature %q: %w", name, s.wrong)
	}
	d.inputs, d.outputs = s.inputs, s.outputs
	return nil
}

// maxSignatures bounds the messages that are read into memory. Graphs are skipped.
const maxSignatures = 16 << 20

// readSavedModel reads a message SavedModel of TensorFlow.
func readSavedModel(r *bufio.Reader) ([]metaGraph, error) {
	var graphs []metaGraph
	err := eachField(r, -1, func(num protowire.Number, n int64) error {
		if num != 2 { // meta_graphs
			return skip(r, n)
		}
		g := metaGraph{signatures: map[string]signature{}}
		err := eachField(r, n, func(num protowire.Number, n int64) error { return g.field(r, num, n) })
		graphs = append(graphs, g)
		return err
	})
	if err == nil && len(graphs) == 0 {
		err = errors.New("it is not a SavedModel: it has no graph")
	}
	return graphs, err
}

// field reads a field of a message MetaGraphDef.
func (g *metaGraph) field(r *bufio.Reader, num protowire.Number, n int64) error {
	if num != 1 && num != 5 { // meta_info_def, signature_def
		return skip(r, n)
	}
	if n > maxSignatures {
		return fmt.Errorf("a message of %d bytes where %d are expected at most", n, maxSignatures)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return truncated(err)
	}
	if num == 1 {
		return eachBytes(b, func(num protowire.Number, v []byte) error {
			if num == 4 {
				g.tags = append(g.tags, string(v))
			}
			return nil
		})
	}
	key, value, err := entry(b)
	if err != nil {
		return err
	}
	s, err := readSignature(value)
	g.signatures[key] = s
	return err
}

// readSignature reads a message SignatureDef.
func readSignature(b []byte) (s signature, err error) {
	err = eachBytes(b, func(num protowire.Number, v []byte) error {
		if num != 1 && num != 2 {
			return nil
		}
		name, info, err := entry(v)
		if err != nil {
			return err
		}
		t, wrong, err := readTensorInfo(name, info)
		if s.wrong == nil {
			s.wrong = wrong
		}
		if num == 1 {
			s.inputs = append(s.inputs, t)
		} else {
			s.outputs = append(s.outputs, t)
		}
		return err
	})
	byName := func(a, b namedTensor) int { return strings.Compare(a.name, b.name) }
	sort.Slice(s.inputs, func(i, j int) bool { return byName(s.inputs[i], s.inputs[j]) < 0 })
	sort.Slice(s.outputs, func(i, j int) bool { return byName(s.outputs[i], s.outputs[j]) < 0 })
	return s, err
}

// tfTypes are the values of TensorFlow's enum DataType.
var tfTypes = map[uint64]inferencepb.DataType{
	1: inferencepb.DataType_TYPE_FP32, 2: inferencepb.DataType_TYPE_FP64, 3: inferencepb.DataType_TYPE_INT32,
	4: inferencepb.DataType_TYPE_UINT8, 5: inferencepb.DataType_TYPE_INT16, 6: inferencepb.DataType_TYPE_INT8,
	7: inferencepb.DataType_TYPE_STRING, 9: inferencepb.DataType_TYPE_INT64, 10: inferencepb.DataType_TYPE_BOOL,
	14: inferencepb.DataType_TYPE_BF16, 17: inferencepb.DataType_TYPE_UINT16, 19: inferencepb.DataType_TYPE_FP16,
	22: inferencepb.DataType_TYPE_UINT32, 23: inferencepb.DataType_TYPE_UINT64,
}

// readTensorInfo reads a message TensorInfo. The first error is that of a tensor that cannot be
// served.
func readTensorInfo(name string, b []byte) (t namedTensor, wrong, err error) {
	t.name = name
	numbers, err := varints(b)
	if err != nil {
		return t, nil, err
	}
	kind, known := tfTypes[numbers[2]]
	if !known {
		wrong = fmt.Errorf("tensor '%s' has the data type %d of TensorFlow, which the protocol does not have", name, numbers[2])
	}
	t.kind = kind
	shaped := false
	err = eachBytes(b, func(num protowire.Number, v []byte) error {
		if num != 3 { // tensor_shape
			return nil
		}
		flags, err := varints(v)
		if err != nil {
			return err
		}
		shaped = flags[3] == 0 // unknown_rank
		return eachBytes(v, func(num protowire.Number, v []byte) error {
			if num != 2 { // dim
				return nil
			}
			dim, err := varints(v)
			t.dims = append(t.dims, max(int64(dim[1]), -1))
			return err
		})
	})
	if !shaped {
		t = unknownRank(name, kind)
	}
	return t, wrong, err
}
