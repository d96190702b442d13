package offline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"triton/perf/data"
	"triton/pkg/tensor"
)

func input(name string, t tensor.DataType, shape ...int64) data.Tensor {
	return data.Tensor{Name: name, DataType: t, Shape: shape}
}

// text returns the elements of a value as JSON.
func text(t *testing.T, in data.Tensor, v data.Value) string {
	t.Helper()
	line, err := appendOutputs(nil, []rowOutput{{Name: "x", DataType: in.DataType, Shape: v.Shape, Data: v.Data}})
	require.NoError(t, err)
	return strings.TrimSuffix(strings.TrimPrefix(string(line), `{"x":`), "}\n")
}

// all reads a source to its end; a row that cannot be used is its error.
func all(t *testing.T, s rowSource, inputs []data.Tensor) []string {
	t.Helper()
	var got []string
	for {
		row, err := s.Next()
		var bad *RowError
		switch {
		case errors.Is(err, io.EOF):
			return got
		case errors.As(err, &bad):
			got = append(got, err.Error())
			continue
		}
		require.NoError(t, err)
		var parts []string
		for i := range inputs {
			if row[i].Data == nil {
				parts = append(parts, "none")
				continue
			}
			parts = append(parts, text(t, inputs[i], row[i]))
		}
		got = append(got, strings.Join(parts, " "))
	}
}

func TestJSONValues(t *testing.T) {
	t.Parallel()
	var (
		f32   = input("X", tensor.FP32, 2, -1)
		list  = input("X", tensor.Int16, -1)
		one   = input("X", tensor.Uint8, 1)
		bytes = input("X", tensor.Bytes, -1)
		flag  = input("X", tensor.Bool, 2)
	)
	for _, c := range []struct {
		in         data.Tensor
		json, want string
	}{
		{f32, `[[1, 2.5, -3e2], [0, 1, 2]]`, `[[1,2.5,-300],[0,1,2]]`},
		{f32, `[1, 2, 3, 4]`, `[[1,2],[3,4]]`},
		{f32, `[[NaN], [Infinity]]`, `[[NaN],[Infinity]]`},
		{f32, `{"b64": "AACAPwAAAEA=", "shape": [2, 1]}`, `[[1],[2]]`},
		{f32, `{"b64": "AACAPwAAAEA="}`, `[[1],[2]]`},
		{f32, `[[], []]`, `[[],[]]`},
		{list, `[-32768, 32767]`, `[-32768,32767]`},
		{list, `7`, `[7]`},
		{one, `255`, `[255]`},
		{bytes, `["a\u00e9", "", {"b64": "/wA="}]`, `["aé","",{"b64":"/wA="}]`},
		{bytes, `"one"`, `["one"]`},
		{bytes, `{"b64": "aGk="}`, `["hi"]`},
		{flag, `[true, false]`, `[true,false]`},

		{f32, `[[1], [2, 3]]`, "nested arrays must all have the same length"},
		{f32, `[[1], 2]`, "nested arrays must all have the same length"},
		{f32, `[1, [2]]`, "nested arrays must all have the same length"},
		{f32, `[[[1]], [[2]]]`, "its shape is [2,1,1], the model's is [2,-1]"},
		{f32, `[1, 2, 3]`, "its shape is [3], the model's is [2,-1]"},
		{f32, `["1", "2"]`, "an element is no number of the type FP32"},
		{f32, `null`, "an element is no number of the type FP32"},
		{f32, `{"b64": "AACAPw", "shape": [2, 1]}`, `"b64" is not base64: illegal base64 data at input byte 4`},
		{f32, `{"b64": "AACAPw==", "shape": [2, 1]}`, "it has 4 bytes, its shape [2,1] of FP32 needs another number"},
		{f32, `{"b64": "AACAPw==", "shape": [-1]}`, `"shape" is no array of dimensions`},
		{f32, `{"b64": "AACA"}`, "its 3 bytes are no multiple of the 4 bytes of an element"},
		{f32, `{"shape": [1]}`, `an object needs the member "b64"`},
		{list, `[32768]`, "an element is no number of the type INT16"},
		{list, `[1.5]`, "an element is no number of the type INT16"},
		{one, `[-1]`, "an element is no number of the type UINT8"},
		{one, `[256]`, "an element is no number of the type UINT8"},
		{f32, `1e39`, "an element is no number of the type FP32"},
		{bytes, `[1]`, `an element is neither a string nor {"b64": "..."}`},
		{flag, `[1, 0]`, "an element is neither true nor false"},
		{list, strings.Repeat("[", 40) + strings.Repeat("]", 40), "arrays are nested more than 32 times"},
	} {
		var d decoder
		row, _, err := d.row([]byte(`{"other": {"X": 1}, "X": `+c.json+`}`), []data.Tensor{c.in})
		if err != nil {
			require.EqualError(t, err, `input "X": `+c.want, c.json)
			continue
		}
		require.Equal(t, c.want, text(t, c.in, row[0]), c.json)
	}
}

func TestJSONLines(t *testing.T) {
	t.Parallel()
	inputs := []data.Tensor{input("A", tensor.Int32, 1), input("B", tensor.Int32, 1)}
	inputs[1].Optional = true
	long := `{"A": [1], "pad": "` + strings.Repeat("x", 3<<20) + `"}`
	content := "\xef\xbb\xbf" + `{"A": [1], "B": [2], "id": 7}` + "\r\n\n  \n" + `{"A": 3}` + "\n" + `{"B": 3}` + "\n[]\n{\n" +
		`{"A": 1, "A": 2}` + "\n" + long + "\n" + `{"A": 4, "B": null}`
	want := []string{
		"[1] [2]", "[3] none", `line 5: input "A" is missing`, "line 6: it is not a JSON object of inputs",
		"line 7: column 2: Missing a name for object member.", `line 8: input "A" is there twice`, "[1] none", "[4] none",
	}
	path := filepath.Join(t.TempDir(), "in.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	for _, from := range []string{path, "-"} {
		for skip := range int64(10) {
			s, err := openRows([]RowFile{ParseRowFile(from)}, inputs, strings.NewReader(content))
			require.NoError(t, err)
			require.NoError(t, s.Skip(skip))
			require.Equal(t, want[min(int(skip), len(want)):], append([]string{}, all(t, s, inputs)...))
			if done, total := s.Progress(); from != "-" {
				require.Equal(t, total, done)
			}
			require.NoError(t, s.Close())
		}
	}
	s, err := openRows([]RowFile{{Path: path}}, inputs, nil)
	require.NoError(t, err)
	_, err = s.Next()
	require.NoError(t, err)
	require.Equal(t, []string{"id"}, s.Ignored())
	require.NoError(t, s.Close())
}

// npy returns a .npy file.
func npy(version byte, descr string, fortran bool, shape string, elements []byte) []byte {
	order := "False"
	if fortran {
		order = "True"
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n", descr, order, shape)
	b := append([]byte("\x93NUMPY"), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(head)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	}
	return append(append(b, head...), elements...)
}

func floats(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestNumPy(t *testing.T) {
	t.Parallel()
	x := []data.Tensor{input("X", tensor.FP32, 2)}
	s := []data.Tensor{input("S", tensor.Bytes, 1)}
	for name, c := range map[string]struct {
		inputs []data.Tensor
		file   []byte
		want   []string
		err    string
	}{
		"floats":        {x, npy(1, "<f4", false, "3, 2", floats(1, 2, 3, 4, 5, 6)), []string{"[1,2]", "[3,4]", "[5,6]"}, ""},
		"version 2":     {x, npy(2, "<f4", false, "1, 2", floats(1, 2)), []string{"[1,2]"}, ""},
		"no rows":       {x, npy(1, "<f4", false, "0, 2", nil), nil, ""},
		"flat":          {[]data.Tensor{input("X", tensor.FP32, 1)}, npy(1, "<f4", true, "2,", floats(1, 2)), []string{"[1]", "[2]"}, ""},
		"bytes":         {s, npy(1, "|S3", false, "2,", []byte("abcd\x00\x00")), []string{`["abc"]`, `["d"]`}, ""},
		"unicode":       {s, npy(3, "<U2", false, "1,", []byte("\xe9\x00\x00\x00\x00\x00\x00\x00")), []string{`["é"]`}, ""},
		"bool":          {[]data.Tensor{input("X", tensor.Bool, 1)}, npy(1, "|b1", false, "2, 1", []byte{0, 1}), []string{"[false]", "[true]"}, ""},
		"bfloat16":      {[]data.Tensor{input("X", tensor.BF16, 1)}, npy(1, "|V2", false, "1, 1", []byte{0x80, 0x3f}), []string{"[1]"}, ""},
		"type":          {x, npy(1, "<f8", false, "1, 2", make([]byte, 16)), nil, `input "X": the array has the type <f8, the input is FP32: save it with .astype(float32)`},
		"big endian":    {x, npy(1, ">f4", false, "1, 2", make([]byte, 8)), nil, "big endian"},
		"objects":       {x, npy(1, "|O", false, "1, 2", make([]byte, 8)), nil, "the array has the type |O"},
		"structure":     {x, bytes.Replace(npy(1, "<f4", false, "1, 2", make([]byte, 8)), []byte("'<f4'"), []byte("[{1}]"), 1), nil, "is not supported: use numbers"},
		"order":         {x, npy(1, "<f4", true, "1, 2", make([]byte, 8)), nil, "Fortran order"},
		"scalar":        {x, npy(1, "<f4", false, "", make([]byte, 4)), nil, "a single number"},
		"shape":         {x, npy(1, "<f4", false, "1, 3", make([]byte, 12)), nil, "its shape is [3], the model's is [2]"},
		"cut off":       {x, npy(1, "<f4", false, "2, 2", make([]byte, 15)), nil, "the file is cut off"},
		"overflow":      {x, npy(1, "<f4", false, "9223372036854775807, 2", make([]byte, 8)), nil, "the file is cut off"},
		"huge row":      {x, npy(1, "<f4", false, "1, 4611686018427387904, 4", nil), nil, "is larger than 256 MiB"},
		"no npy":        {x, []byte("PK\x03\x04 this is a zip file"), nil, "it is no .npy file"},
		"version 4":     {x, npy(4, "<f4", false, "1, 2", make([]byte, 8)), nil, "version 4 of the .npy format is unknown"},
		"header":        {x, npy(1, "<f4", false, "1, 2", nil)[:20], nil, "the header is cut off"},
		"empty strings": {s, npy(1, "|S0", false, "1,", nil), nil, "elements of the type |S0 have no bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.npy")
			require.NoError(t, os.WriteFile(path, c.file, 0o600))
			source, err := openRows([]RowFile{{Path: path}}, c.inputs, nil)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, all(t, source, c.inputs))
			require.NoError(t, source.Close())
		})
	}
}

func TestNumPyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	a, b := write("a.npy", npy(1, "<f4", false, "3,", floats(1, 2, 3))), write("b.npy", npy(1, "<f4", false, "3,", floats(4, 5, 6)))
	short := write("short.npy", npy(1, "<f4", false, "2,", floats(4, 5)))
	inputs := []data.Tensor{input("A", tensor.FP32, 1), input("B", tensor.FP32, 1)}
	s, err := openRows([]RowFile{ParseRowFile("B=" + b), ParseRowFile("A=" + a)}, inputs, nil)
	require.NoError(t, err)
	require.NoError(t, s.Skip(1))
	require.Equal(t, []string{"[2] [5]", "[3] [6]"}, all(t, s, inputs))
	require.NoError(t, s.Close())
	for want, files := range map[string][]string{
		"the model has 2 inputs: name the input of each file": {a},
		`input "B" has no file: add --input B=FILE.npy`:       {"A=" + a},
		`the model has no input "C"`:                          {"C=" + a},
		`input "A" has the file`:                              {"A=" + a, "A=" + b},
		"has 2 rows":                                          {"A=" + a, "B=" + short},
		"no such file":                                        {"A=" + a, "B=/no/such.npy"},
	} {
		var list []RowFile
		for _, f := range files {
			list = append(list, ParseRowFile(f))
		}
		_, err := openRows(list, inputs, nil)
		require.ErrorContains(t, err, want)
	}
	for want, f := range map[string]string{
		"unknown kind of file": "rows.csv", "no such file": "/no/such.jsonl", "only a .npy file has one input": "A=rows.jsonl", "is a folder": dir + "/x.jsonl",
	} {
		require.NoError(t, os.MkdirAll(dir+"/x.jsonl", 0o700))
		_, err := openRows([]RowFile{ParseRowFile(f)}, inputs, nil)
		require.ErrorContains(t, err, want)
	}
}

func TestParquet(t *testing.T) {
	t.Parallel()
	type record struct {
		ID    int64       `parquet:"id"`
		X     []float32   `parquet:"X,list"`
		Y     []int64     `parquet:"Y,optional,list"`
		Name  string      `parquet:"Name"`
		U     uint32      `parquet:"U"`
		Big   uint64      `parquet:"Big"`
		Pairs [][]float64 `parquet:"Pairs,list"`
		Flag  bool        `parquet:"Flag"`
	}
	var records []record
	for i := range 5000 {
		r := record{ID: int64(i), X: []float32{float32(i), 0.5}, Y: []int64{int64(i)}, Name: fmt.Sprint("n", i), U: math.MaxUint32 - uint32(i), Big: math.MaxUint64, Flag: i%2 == 1}
		r.Pairs = [][]float64{{float64(i), 1, 2}, {3, 4, 5}}
		records = append(records, r)
	}
	records[1].X = []float32{1, 2, 3}
	records[2].Y = []int64{1 << 40}
	records[3].Pairs[1] = []float64{3}
	records[4].Y = nil
	path := filepath.Join(t.TempDir(), "rows.parquet")
	var b bytes.Buffer
	w := parquet.NewGenericWriter[record](&b, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(1500), parquet.PageBufferSize(4096))
	_, err := w.Write(records)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))

	inputs := []data.Tensor{
		input("X", tensor.FP32, 2), input("Y", tensor.Int32, -1), input("Name", tensor.Bytes, 1), input("U", tensor.Uint32, 1), input("Big", tensor.Uint64, 1),
		input("Pairs", tensor.FP32, 2, -1), input("Flag", tensor.Bool, 1),
	}
	want := make([]string, len(records))
	for i := range records {
		want[i] = fmt.Sprintf(`[%d,0.5] [%d] ["n%d"] [%d] [18446744073709551615] [[%d,1,2],[3,4,5]] [%t]`, i, i, i, math.MaxUint32-uint32(i), i, i%2 == 1)
	}
	want[1] = `row 1 of the input: input "X": its shape is [3], the model's is [2]`
	want[2] = `row 2 of the input: input "Y": 1099511627776 is out of the range of INT32`
	want[3] = `row 3 of the input: input "Pairs": nested arrays must all have the same length`
	want[4] = `row 4 of the input: input "Y" is missing`
	for _, skip := range []int64{0, 1, 3, 1499, 1500, 1501, 4321, 5000, 6000} {
		s, err := openRows([]RowFile{{Path: path}}, inputs, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"id"}, s.Ignored())
		require.NoError(t, s.Skip(skip))
		require.Equal(t, want[min(skip, 5000):], append([]string{}, all(t, s, inputs)...), skip)
		done, total := s.Progress()
		require.Equal(t, []int64{5000, 5000}, []int64{done, total})
		require.NoError(t, s.Close())
	}
	for want, in := range map[string]data.Tensor{
		`input "Z" is missing`: input("Z", tensor.FP32, 1),
		"it has the type STRING, which is not converted to the in": input("Name", tensor.FP32, 1),
		"which is not converted to the input's INT32":              input("X", tensor.Int32, 2),
	} {
		_, err := openRows([]RowFile{{Path: path}}, []data.Tensor{in}, nil)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, os.WriteFile(path, []byte("PAR1 is not enough"), 0o600))
	_, err = openRows([]RowFile{{Path: path}}, inputs, nil)
	require.ErrorContains(t, err, "it is no Parquet file")
}

func TestAppendOutputs(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]rowOutput{
		`{"a\"b":[[0.1,-0,1e+20]]}`: {"a\"b", tensor.FP32, tensor.Shape{1, 3}, floats(0.1, float32(math.Copysign(0, -1)), 1e20)},
		`{"o":0.1}`:                 {"o", tensor.FP32, tensor.Shape{}, floats(0.1)},
		`{"o":[[],[]]}`:             {"o", tensor.FP32, tensor.Shape{2, 0}, nil},
	} {
		line, err := appendOutputs(nil, []rowOutput{o})
		require.NoError(t, err)
		require.Equal(t, want+"\n", string(line))
	}
	for want, o := range map[string]rowOutput{
		"4 bytes are too many or too few": {"o", tensor.FP32, tensor.Shape{2}, floats(1)},
		"cut off":                         {"o", tensor.Bytes, tensor.Shape{1}, []byte{9, 0, 0, 0}},
		"5 bytes are left":                {"o", tensor.Bytes, tensor.Shape{0}, []byte{1, 0, 0, 0, 'a'}},
		"too many lists":                  {"o", tensor.FP32, tensor.Shape{1 << 40, 0}, nil},
		"negative dimension":              {"o", tensor.FP32, tensor.Shape{-1}, nil},
	} {
		_, err := appendOutputs(nil, []rowOutput{o})
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, "{\"error\":\"a \\\"b\\\"\\n\"}\n", string(appendError(nil, errors.New("a \"b\"\n"))))
}
