package data_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf/data"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// signature has one input of each kind that is read differently.
func signature() data.Signature {
	return data.Signature{
		Model: "m", Batching: true,
		Inputs: []data.Tensor{
			{Name: "A", DataType: tensor.FP32, Shape: tensor.Shape{2}},
			{Name: "T", DataType: tensor.Bytes, Shape: tensor.Shape{1}},
		},
		Outputs: []data.Tensor{{Name: "Y", DataType: tensor.FP32, Shape: tensor.Shape{2}}},
	}
}

func one(d tensor.DataType, shape ...int64) data.Signature {
	return data.Signature{Model: "m", Inputs: []data.Tensor{{Name: "X", DataType: d, Shape: shape}}}
}

func load(t *testing.T, s data.Signature, files ...string) (*data.Set, error) {
	t.Helper()
	o := data.Options{Source: data.Files}
	for i, text := range files {
		path := filepath.Join(t.TempDir(), string(rune('a'+i))+".json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		o.Paths = append(o.Paths, path)
	}
	return data.Load(o, s)
}

func floats(v ...float32) []byte {
	var b []byte
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

func TestReadForms(t *testing.T) {
	t.Parallel()
	set, err := load(t, signature(), `{"data": [ {"A": [0.5, 1.0], "T": ["hello"], "model": 7},
           {"A": {"content": {"b64": "AAAAPwAA\ngD8="}, "shape": [2]}, "T": {"content": ["bye"], "shape": [1]}},
           {"A": {"b64": "AAAAPwAAgD8"}, "T": {"b64": "AQAAAHo="}} ],
 "validation_data": [ {"Y": [1.0, 2.0]}, {"Y": {"b64": "AACAPwAAAEA="}}, {"Y": [1, 2]} ]}`)
	require.NoError(t, err)
	require.True(t, set.FromFiles)
	require.Equal(t, 3, len(set.Streams[0]))
	require.True(t, set.HasExpected())
	for i, text := range []string{"hello", "bye", "z"} {
		step := set.Streams[0][i]
		require.Equal(t, floats(0.5, 1), step.Inputs["A"].Data)
		require.Equal(t, tensor.AppendElementString(nil, text), step.Inputs["T"].Data)
		require.Equal(t, floats(1, 2), step.Outputs["Y"].Data)
	}
}

func TestReadStreams(t *testing.T) {
	t.Parallel()
	nested := `{"data": [ [{"X":[1]},{"X":[2]}], [{"X":[3]}] ]}`
	flat := `{"data": [ {"X":[4]} ]}`
	set, err := load(t, one(tensor.Int32, 1), nested, nested)
	require.NoError(t, err)
	require.Len(t, set.Streams, 4)
	set, err = load(t, one(tensor.Int32, 1), flat, flat)
	require.NoError(t, err)
	require.Equal(t, 2, len(set.Streams[0]))
	_, err = load(t, one(tensor.Int32, 1), flat, nested)
	require.ErrorContains(t, err, "Inconsistency in input-data provided.")
}

func TestElementTypes(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	for _, c := range []struct {
		d    tensor.DataType
		text string
		want []byte
		err  string
	}{
		{tensor.Bool, `true`, []byte{1}, ""},
		{tensor.Bool, `1`, nil, "unable to find bool data in json"},
		{tensor.Uint8, `258`, nil, "element 0 is 258, which is outside of the range of UINT8, 0 to 255"},
		{tensor.Uint8, `-1`, nil, "element 0 is -1, which is outside of the range of UINT8, 0 to 255"},
		{tensor.Uint8, `-0`, []byte{0}, ""},
		{tensor.Uint8, `1.5`, nil, "unable to find uint8_t data in json"},
		{tensor.Uint16, `65535`, []byte{255, 255}, ""},
		{tensor.Uint32, `4294967296`, nil, "element 0 is 4294967296, which is outside of the range of UINT32, 0 to 4294967295"},
		{tensor.Uint64, `-9223372036854775809`, nil, "outside of the range of UINT64"},
		{tensor.Uint64, `18446744073709551615`, le.AppendUint64(nil, math.MaxUint64), ""},
		{tensor.Int8, `-2`, []byte{254}, ""},
		{tensor.Int16, `"1"`, nil, "unable to find int16_t data in json"},
		{tensor.Int32, `1.5`, nil, "unable to find int32_t data in json"},
		{tensor.Int64, `-9223372036854775808`, le.AppendUint64(nil, 1<<63), ""},
		{tensor.FP16, `1.5`, le.AppendUint16(nil, 0x3e00), ""},
		{tensor.Int8, `-129`, nil, "element 0 is -129, which is outside of the range of INT8, -128 to 127"},
		{tensor.FP16, `65519`, le.AppendUint16(nil, 0x7bff), ""},
		{tensor.FP16, `65520`, nil, "element 0 is 65520, which is outside of the range of FP16, -65504 to 65504"},
		{tensor.BF16, `3.4e38`, nil, "outside of the range of BF16"},
		{tensor.FP32, `1e39`, nil, "outside of the range of FP32"},
		{tensor.FP16, `5.9604644775390625e-08`, le.AppendUint16(nil, 1), ""},
		{tensor.FP16, `-1e-9`, le.AppendUint16(nil, 0x8000), ""},
		{tensor.FP16, `NaN`, le.AppendUint16(nil, 0x7e00), ""},
		{tensor.BF16, `1.00390625`, le.AppendUint16(nil, 0x3f80), ""},
		{tensor.BF16, `1.01171875`, le.AppendUint16(nil, 0x3f82), ""},
		{tensor.FP32, `1`, floats(1), ""},
		{tensor.FP32, `-Infinity`, floats(float32(math.Inf(-1))), ""},
		{tensor.FP32, `true`, nil, "unable to find float data in json"},
		{tensor.FP64, `1e400`, nil, "Number too big to be stored in double."},
		{tensor.FP64, `null`, nil, "unable to find fp64 data in json"},
		{tensor.Bytes, `"a\u00e9\ud83d\ude00\n"`, tensor.AppendElementString(nil, "aé😀\n"), ""},
		{tensor.Bytes, `3`, nil, "unable to find string data in json"},
	} {
		t.Run(c.d.String()+" "+c.text, func(t *testing.T) {
			t.Parallel()
			set, err := load(t, one(c.d, 1), `{"data":[{"X":[`+c.text+`]}]}`)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, set.Streams[0][0].Inputs["X"].Data)
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, err string }{
		"empty":            {``, "line 1, column 1: The document is empty."},
		"cut off":          {`{"data":[`, "failed to parse the specified json file for reading provided data"},
		"two values":       {`{"data":[]} x`, "line 1, column 13: The document root must not be followed by other values."},
		"no data":          {`{"dat":[]}`, "The json file doesn't contain data field"},
		"empty data":       {`{"data":[]}`, "the data array is empty"},
		"no object":        {`{"data":[1]}`, "a step must be an object"},
		"mixed":            {`{"data":[{"A":[1,2],"T":["x"]},[]]}`, "Inconsistency in input-data provided."},
		"missing":          {`{"data":[{"A":[1,2]}]}`, "missing tensor T ( Location stream id: 0, step id: 0)"},
		"unknown":          {`{"data":[{"A":[1,2],"T":["x"],"Z":[1]}]}`, "The input or output 'Z' is not found in the model configuration"},
		"malformed":        {`{"data":[{"A":1,"T":["x"]}]}`, "Input data file is malformed."},
		"no content":       {`{"data":[{"A":{"shape":[2]},"T":["x"]}]}`, "missing content field. ( Location stream id: 0, step id: 0)"},
		"bad b64 type":     {`{"data":[{"A":{"b64":1},"T":["x"]}]}`, "the value of b64 field should be of type string"},
		"bad b64":          {`{"data":[{"A":{"b64":"?"},"T":["x"]}]}`, "is not base64"},
		"content a string": {`{"data":[{"A":{"content":"x"},"T":["x"]}]}`, "The tensor values are not supported. Expected an array or b64 string"},
		"shape no number":  {`{"data":[{"A":{"content":[1,2],"shape":["2"]},"T":["x"]}]}`, "shape values must be integers."},
		"other shape":      {`{"data":[{"A":{"content":[1,2,3],"shape":[3]},"T":["x"]}]}`, `The supplied shape of [3] for input "A" is incompatible with the model's input shape of [2]`},
		"too few":          {`{"data":[{"A":[1],"T":["x"]}]}`, "mismatch in the data provided for A. Expected: 8 bytes, Got: 4 bytes"},
		"too many strings": {`{"data":[{"A":[1,2],"T":["x","y"]}]}`, "mismatch in the data provided for T. Expected: 1 elements, Got: 2 elements"},
		"strings cut off":  {`{"data":[{"A":[1,2],"T":{"b64":"/////w=="}}]}`, "BYTES tensor is cut off"},
		"ragged":           {`{"data":[{"A":[[1],[2,3]],"T":["x"]}]}`, "nested arrays"},
		"outputs":          {`{"data":[{"A":[1,2],"T":["x"]}],"validation_data":[]}`, "The 'validation_data' field doesn't align"},
		"too deep":         {strings.Repeat("[", 300), "JSON nesting depth exceeds maximum allowed limit (256)"},
		"a bare minus":     {"{\"data\":\n[-]}", "line 2, column 3: Invalid value."},
		"bad escape":       {`{"data":["\q"]}`, "Invalid escape character in string."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, signature(), c.text)
			require.ErrorContains(t, err, c.err)
		})
	}
}

func TestNestedArraysGiveTheShape(t *testing.T) {
	t.Parallel()
	set, err := load(t, one(tensor.Int8, -1, -1), `{"data":[{"X":[[1,2,3],[4,5,6]]}]}`)
	require.NoError(t, err)
	require.Equal(t, data.Value{Shape: tensor.Shape{2, 3}, Data: []byte{1, 2, 3, 4, 5, 6}}, set.Streams[0][0].Inputs["X"])
	set, err = load(t, one(tensor.Int8, -1, -1), `{"data":[{"X":{"content":[[1],[2]]}},{"X":{"content":[[1],[2]],"shape":[1,2]}}]}`)
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{2, 1}, set.Streams[0][0].Inputs["X"].Shape)
	require.Equal(t, tensor.Shape{1, 2}, set.Streams[0][1].Inputs["X"].Shape, "an explicit shape wins")
	_, err = load(t, one(tensor.Int8, -1), `{"data":[{"X":[1,2]}]}`)
	require.ErrorContains(t, err, `The variable-sized tensor "X" with model shape [-1] needs to have its shape fully defined. See the --shape option.`)
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	write := func(files map[string]string) data.Options {
		dir := t.TempDir()
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		return data.Options{Source: data.Files, Paths: []string{dir}}
	}
	set, err := data.Load(write(map[string]string{"A": "12345678", "T": "hello\n", "Y": "abcdefgh"}), signature())
	require.NoError(t, err)
	require.False(t, set.FromFiles)
	require.Equal(t, []byte("12345678"), set.Streams[0][0].Inputs["A"].Data)
	require.Equal(t, tensor.AppendElementString(nil, "hello"), set.Streams[0][0].Inputs["T"].Data)
	require.Equal(t, []byte("abcdefgh"), set.Streams[0][0].Outputs["Y"].Data)
	variable := signature()
	variable.Outputs[0].Shape = tensor.Shape{-1}
	set, err = data.Load(write(map[string]string{"A": "12345678", "T": "x", "Y": "abcdefghijkl"}), variable)
	require.NoError(t, err)
	var resp kserve.Response
	out := resp.AddOutput()
	out.Name, out.Data = "Y", tensor.NewData(tensor.HeapBuffer([]byte("abcdefghijkl")))
	require.NoError(t, set.Check(&resp, 0, 0, 1))
	out.Data = tensor.NewData(tensor.HeapBuffer([]byte("abcdefghijkL")))
	require.EqualError(t, set.Check(&resp, 0, 0, 1), "Output doesn't match expected output")
	_, err = data.Load(write(map[string]string{"A": "12345678", "T": "x", "Y": "abcde"}), variable)
	require.ErrorContains(t, err, "provided data for output Y has byte size 5, which is no multiple of the 4 bytes of an element")
	for want, files := range map[string]map[string]string{
		"Provided data file 'Q' does not correspond to a valid model input or output.": {"A": "12345678", "T": "x", "Q": "1"},
		"provided data for input A has byte size 3, expect 8":                          {"A": "123", "T": "x"},
		"provided data for input T has 2 elements, expect 1":                           {"A": "12345678", "T": "x\ny\n"},
		"is empty":            {"A": "", "T": "x"},
		"failed to open file": {"T": "x"},
	} {
		_, err := data.Load(write(files), signature())
		require.ErrorContains(t, err, want)
	}
}

// TestShared: files that several models share may have tensors of the others.
func TestShared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"A": "12345678", "T": "x", "B": "1", "d.json": `{"data":[{"A":[1,2],"T":["x"],"B":[1]},{"A":[1,2],"T":["x"],"B":[2]}]}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	json := filepath.Join(dir, "d.json")
	o := data.Options{Source: data.Files, Paths: []string{json}}
	_, err := data.Load(o, signature())
	require.ErrorContains(t, err, "The input or output 'B' is not found in the model configuration")
	o.Shared = true
	set, err := data.Load(o, signature())
	require.NoError(t, err)
	require.Equal(t, []string{`the input data has the input "B", which model m does not have: it is passed over. Its inputs are A, T.`}, set.PassedOver)
	require.NoError(t, os.Remove(json))
	o.Paths = []string{dir}
	set, err = data.Load(o, signature())
	require.NoError(t, err)
	require.Equal(t, []string{`the folder ` + dir + ` has the input "B", which model m does not have: it is passed over. Its inputs are A, T.`}, set.PassedOver)
}

func TestRequestBatches(t *testing.T) {
	t.Parallel()
	s := one(tensor.Uint8, 1)
	s.Batching = true
	s.Outputs = []data.Tensor{{Name: "Y", DataType: tensor.Uint8, Shape: tensor.Shape{1}}}
	set, err := load(t, s, `{"data":[{"X":[1]},{"X":[2]},{"X":[3]}],"validation_data":[{"Y":[1]},{"Y":[2]},{"Y":[3]}]}`)
	require.NoError(t, err)
	req, err := set.Request(0, 2, 4)
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{4, 1}, req.Inputs[0].Shape)
	got := make([]byte, 4)
	req.Inputs[0].Data.CopyTo(got)
	require.Equal(t, []byte{3, 1, 2, 3}, got, "steps go round")
	require.Equal(t, []kserve.RequestedOutput{{Name: "Y", Binary: true}}, req.Outputs)

	var resp kserve.Response
	out := resp.AddOutput()
	out.Name, out.Data = "Y", tensor.NewData(tensor.HeapBuffer([]byte{3, 1, 2, 3}))
	require.NoError(t, set.Check(&resp, 0, 2, 4))
	require.EqualError(t, set.Check(&resp, 0, 0, 4), "Output doesn't match expected output")
	require.EqualError(t, set.Check(&resp, 0, 2, 3), "Output size doesn't match expected size")
	require.ErrorContains(t, set.Check(&kserve.Response{}, 0, 2, 4), "'Y'")
}

func TestRequestRefusals(t *testing.T) {
	t.Parallel()
	s := one(tensor.Uint8, -1)
	s.Batching, s.Inputs[0].Optional = true, true
	set, err := load(t, s, `{"data":[{"X":{"content":[1],"shape":[1]}},{"X":{"content":[1,2],"shape":[2]}},{}]}`)
	require.NoError(t, err)
	_, err = set.Request(0, 0, 2)
	require.EqualError(t, err, "can not batch tensors with different shapes together (input 'X' expected shape [1] and received [2] ( Location stream id: 0, step id: 1)")
	_, err = set.Request(0, 1, 2)
	require.ErrorContains(t, err, "For batch sizes larger than 1, the same set of inputs must be specified for each batch.")
	req, err := set.Request(0, 2, 1)
	require.NoError(t, err)
	require.Empty(t, req.Inputs, "an optional input that is left out")

	s.Inputs[0].Optional, s.Inputs[0].ShapeTensor = false, true
	set, err = load(t, s, `{"data":[{"X":{"content":[1],"shape":[1]}},{"X":{"content":[2],"shape":[1]}},{"X":{"content":[1,2],"shape":[2]}}]}`)
	require.NoError(t, err)
	_, err = set.Request(0, 0, 2)
	require.EqualError(t, err, "The shape tensors should be identical in a batch (mismatch in content)")
	_, err = set.Request(0, 1, 2)
	require.EqualError(t, err, "The shape tensors should be identical in a batch (mismatch in size)")
	req, err = set.Request(0, 0, 4)
	require.Error(t, err)
	require.Nil(t, req)
}

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "d.json")
	text := `{"data":[` + strings.Repeat(`{"A":[0.5,1.0],"T":["hello"]},`, 9999) + `{"A":[0.5,1.0],"T":["hello"]}]}`
	require.NoError(b, os.WriteFile(path, []byte(text), 0o600))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := data.Load(data.Options{Source: data.Files, Paths: []string{path}}, signature())
		require.NoError(b, err)
	}
}

// TestPlaces: a mistake in a file of several streams names the tensor, the stream and the step.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const good = `{"A":[1,2],"T":["x"]}`
	for bad, want := range map[string]string{
		`{"A":3,"T":["x"]}`:                                                "of tensor 'A'",
		`{"A":[1,2],"T":"x"}`:                                              "of tensor 'T'",
		`{"A":[1,true],"T":["x"]}`:                                         "unable to find float data in json: element 1 is true ( Location stream id: 1, step id: 2) of tensor 'A'",
		`{"A":[1,2],"T":[{"text":"x"}]}`:                                   `unable to find string data in json: element 0 is {"text":"x"} (`,
		`{"A":[1,2,3],"T":["x"]}`:                                          "of tensor 'A'",
		`{"A":[1,1e99],"T":["x"]}`:                                         "of tensor 'A'",
		`{"A":{"content":[1],"shape":[1]},"T":["x"]}`:                      "of tensor 'A'",
		`{"A":{"b64":"?"},"T":["x"]}`:                                      "of tensor 'A'",
		`{"A":[[1],[2,3]],"T":["x"]}`:                                      "of tensor 'A'",
		`{"A":[1,2],"T":["x"],"TT":[1]}`:                                   `'TT' is not found in the model configuration: did you mean "T"? (`,
		`{"A":[1,2]}`:                                                      "missing tensor T",
		`{"A":{"content":[1,2],"shape":["x"]},"T":["x"]}`:                  "of tensor 'A'",
		`{"A":["a text of more than 32 bytes, which is cut",1],"T":["x"]}`: `element 0 is "a text of more than 32 bytes, w... (`,
	} {
		_, err := load(t, signature(), `{"data":[[`+good+`],[`+good+`,`+good+`,`+bad+`]]}`)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "( Location stream id: 1, step id: 2)")
	}
	_, err := load(t, signature(), `{"data":[`+good+`,[`+good+`]]}`)
	require.ErrorContains(t, err, "(element 1 differs from those before it)")
	_, err = load(t, signature(), `{"data":[[`+good+`],[`+good+`]],"validation_data":[[{"Y":[1,2]}],[]]}`)
	require.ErrorContains(t, err, "(stream 1 has 0 and 1 elements)")
}
