package onnxmodel_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
)

// The files in testdata are written by the onnx package; see make.py there.
func read(t testing.TB, name string) *onnxmodel.Model {
	t.Helper()
	m, err := onnxmodel.ReadFile(filepath.Join("testdata", name+".onnx"))
	require.NoError(t, err)
	return m
}

func names(values []onnxmodel.Value) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.Name)
	}
	return out
}

func TestShapes(t *testing.T) {
	t.Parallel()
	m := read(t, "shapes")
	require.Equal(t, int64(8), m.IRVersion)
	require.Equal(t, "make.py 1 test", m.Producer+" "+m.ProducerVersion+" "+m.Domain)
	require.Equal(t, int64(7), m.Version)
	require.Equal(t, "shapes", m.Graph)
	require.Equal(t, []onnxmodel.Opset{{Version: 17}, {Domain: "ai.onnx.ml", Version: 3}}, m.Opsets)
	require.Equal(t, map[string]string{"author": "nobody", "labels": "a,b"}, m.Metadata)
	require.Equal(t, 1, m.Nodes)

	require.Equal(t, []onnxmodel.Value{
		{
			Name: "a", Kind: onnxmodel.KindTensor, Elem: onnxmodel.Float, Ranked: true,
			Dims: []int64{-1, 3, -1}, Symbols: []string{"batch", "", ""},
		},
		{Name: "scalar", Kind: onnxmodel.KindTensor, Elem: onnxmodel.Int64, Ranked: true},
		{Name: "unranked", Kind: onnxmodel.KindTensor, Elem: onnxmodel.Double},
	}, m.Inputs)
	zero, ok := m.Output("zero")
	require.True(t, ok)
	require.Equal(t, []int64{0}, zero.Dims)
	_, ok = m.Output("nothing")
	require.False(t, ok)
}

func TestInitializersAreNoInputs(t *testing.T) {
	t.Parallel()
	m := read(t, "overridable")
	require.Equal(t, []string{"a"}, names(m.Inputs))
	require.Equal(t, []string{"w"}, names(m.Overridable))
	require.Equal(t, []string{"w", "v"}, m.Initializers)
	require.Equal(t, int64(14), m.Parameters)
	_, ok := m.Input("w")
	require.True(t, ok)

	m = read(t, "constants_as_inputs") // before IR version 4 no weight is a default
	require.Equal(t, []string{"a"}, names(m.Inputs))
	require.Empty(t, m.Overridable)
}

func TestKinds(t *testing.T) {
	t.Parallel()
	m := read(t, "kinds")
	var kinds []string
	for _, v := range m.Inputs {
		kinds = append(kinds, v.Kind.String())
	}
	require.Equal(t, []string{
		"ONNX_TYPE_SEQUENCE", "ONNX_TYPE_MAP", "ONNX_TYPE_OPTIONAL",
		"ONNX_TYPE_SPARSETENSOR", "ONNX_TYPE_UNKNOWN", "ONNX_TYPE_TENSOR",
	}, kinds)
	require.Equal(t, []int64{4, -1}, m.Inputs[3].Dims)
	require.Equal(t, []string{"s"}, m.Initializers)
}

func TestElemTypes(t *testing.T) {
	t.Parallel()
	m := read(t, "types")
	require.Len(t, m.Inputs, 27)
	known := 0
	for _, v := range m.Inputs[1:] {
		require.Equal(t, v.Name, strings.ToLower(v.Elem.String()))
		if d := v.Elem.DataType(); d != tensor.Invalid {
			known++
			require.Equal(t, v.Elem, onnxmodel.ElemTypeOf(d))
		}
	}
	require.Equal(t, len(tensor.DataTypes()), known)
	require.Equal(t, tensor.Invalid, onnxmodel.ElemType(99).DataType())
	require.Equal(t, "ElemType(99)", onnxmodel.ElemType(99).String())
	require.Equal(t, onnxmodel.Undefined, onnxmodel.ElemTypeOf(tensor.Invalid))
}

func TestExternalData(t *testing.T) {
	t.Parallel()
	m := read(t, "external") // weights.bin does not exist
	require.Equal(t, []string{"weights.bin"}, m.External)
	require.Equal(t, []string{"w", "w2"}, m.Initializers)
}

// message returns one length-delimited field around payload.
func message(num protowire.Number, payload ...byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), payload)
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	dims := bytes.Repeat(message(1), 257)
	deep := append(bytes.Repeat([]byte{0xfb, 0x01}, 40), bytes.Repeat([]byte{0xfc, 0x01}, 40)...)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":         {nil, "not an ONNX model: it has no graph"},
		"no graph":      {[]byte{0x08, 0x08}, "not an ONNX model: it has no graph"},
		"text":          {[]byte("<html></html>"), "offset 0, in model: field 7 has wire type 4, which does not belong here"},
		"field 0":       {[]byte{0x00, 0x01}, "offset 0, in model: invalid field tag 0x0"},
		"cut number":    {[]byte{0x08, 0x80}, "offset 1, in model: cut off at 2"},
		"long number":   {append([]byte{0x08}, bytes.Repeat([]byte{0xff}, 11)...), "offset 1, in model: invalid number"},
		"long graph":    {[]byte{0x3a, 0x05, 0x00}, "offset 0, in model: field 7 has length 5, but only 1 bytes follow"},
		"huge length":   {append([]byte{0x3a}, protowire.AppendVarint(nil, 1<<63)...), "field 7 has length 9223372036854775808, but only 0 bytes follow"},
		"cut fixed":     {[]byte{0x0d, 0x01, 0x02}, "offset 0, in model: field 1 is cut off at 3"},
		"past parent":   {append(message(7, 0x2a, 0x04, 0x42), 0, 0, 0, 0), "offset 2, in model.graph: field 5 has length 4, but only 1 bytes follow"},
		"cut name":      {message(7, message(5, 0x42, 0x09)...), "offset 4, in model.graph.initializer[0]: field 8 has length 9"},
		"rank":          {message(7, message(12, message(2, message(1, message(2, dims...)...)...)...)...), "in model.graph.output[0].type.tensor_type.shape: more than 256 dimensions"},
		"long name":     {message(7, message(2, make([]byte, 1<<17)...)...), "in model.graph: name is 131072 bytes long, at most 65536 are allowed"},
		"deep groups":   {deep, "nested wrongly or more than 32 deep"},
		"open group":    {[]byte{0xfb, 0x01}, "offset 2, in model: cut off at 2"},
		"crossed group": {[]byte{0xfb, 0x01, 0xf4, 0x01}, "group 30 is nested wrongly"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := onnxmodel.Read(bytes.NewReader(c.file), int64(len(c.file)))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestKeptMemoryIsBounded(t *testing.T) {
	t.Parallel()
	// Every two bytes of this file declare one more nameless weight.
	file := message(7, bytes.Repeat(message(5), 1<<20+1)...)
	_, err := onnxmodel.Read(bytes.NewReader(file), int64(len(file)))
	require.ErrorContains(t, err, "take more than 64 MiB")
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	t.Parallel()
	file := []byte{0xfb, 0x01, 0x08, 0x01, 0xfc, 0x01} // a group with a number in it
	file = append(file, message(7, message(2, 'g')...)...)
	file = append(file, message(14, append(message(1, 'k'), message(2, make([]byte, 1<<17)...)...)...)...)
	m, err := onnxmodel.Read(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	require.Equal(t, "g", m.Graph)
	require.Empty(t, m.Metadata) // the value is too long to keep
}

func TestReadFileErrors(t *testing.T) {
	t.Parallel()
	_, err := onnxmodel.ReadFile(filepath.Join(t.TempDir(), "none.onnx"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = onnxmodel.ReadFile(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
	path := filepath.Join(t.TempDir(), "bad.onnx")
	require.NoError(t, os.WriteFile(path, []byte{0}, 0o600))
	_, err = onnxmodel.ReadFile(path)
	require.ErrorContains(t, err, "read ONNX model "+path+": offset 0")
}

// sparse is a file of which only a head and a tail exist; the gap between reads
// as zeros and counts what is read of it.
type sparse struct {
	head, tail []byte
	gap        int64
	read       int64
}

func (s *sparse) ReadAt(b []byte, off int64) (int, error) {
	for i := range b {
		at := off + int64(i)
		switch n := int64(len(s.head)); {
		case at < n:
			b[i] = s.head[at]
		case at < n+s.gap:
			s.read++
			b[i] = 0
		case at < n+s.gap+int64(len(s.tail)):
			b[i] = s.tail[at-n-s.gap]
		default:
			return i, io.EOF
		}
	}
	return len(b), nil
}

func TestWeightsAreNotRead(t *testing.T) {
	t.Parallel()
	s := &sparse{gap: 2 << 30}
	weight := append(message(8, 'w'), 0x4a)
	weight = protowire.AppendVarint(weight, uint64(s.gap))
	s.tail = message(12, message(1, 'y')...)
	graph := protowire.AppendVarint([]byte{0x2a}, uint64(len(weight))+uint64(s.gap))
	graph = append(graph, weight...)
	s.head = protowire.AppendVarint([]byte{0x3a}, uint64(len(graph)+len(s.tail))+uint64(s.gap))
	s.head = append(s.head, graph...)
	size := int64(len(s.head)+len(s.tail)) + s.gap
	m, err := onnxmodel.Read(s, size)
	require.NoError(t, err)
	require.Equal(t, []string{"w"}, m.Initializers)
	require.Equal(t, []string{"y"}, names(m.Outputs))
	require.LessOrEqual(t, s.read, int64(64<<10))

	_, err = onnxmodel.Read(bytes.NewReader(s.head), size) // shorter than it was
	require.True(t, errors.Is(err, io.ErrUnexpectedEOF), err)
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.onnx")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := onnxmodel.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.GreaterOrEqual(t, m.Parameters, int64(0))
		for _, v := range append(m.Inputs, m.Outputs...) {
			require.Len(t, v.Symbols, len(v.Dims))
			for _, d := range v.Dims {
				require.GreaterOrEqual(t, d, int64(-1))
			}
		}
	})
}

func BenchmarkReadFile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := onnxmodel.ReadFile("testdata/shapes.onnx")
		require.NoError(b, err)
	}
}
