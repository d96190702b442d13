package rest

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// someInputs is a Schema with one input of each kind that matters.
func someInputs(name string) (tensor.DataType, tensor.Shape, bool) {
	switch name {
	case "I":
		return tensor.Int32, tensor.Shape{-1}, true
	case "F":
		return tensor.FP32, tensor.Shape{-1, 2, -1}, true
	case "S":
		return tensor.Bytes, tensor.Shape{-1, 1}, true
	case "B":
		return tensor.Bool, tensor.Shape{2}, true
	case "H":
		return tensor.FP16, tensor.Shape{-1}, true
	case "?":
		return tensor.Invalid, tensor.Shape{-1}, true
	}
	return tensor.Invalid, nil, false
}

// decodeGenerate reads a request and checks afterwards that all memory came back.
func decodeGenerate(t testing.TB, text string, limit int64, check func(*kserve.Request, error)) {
	t.Helper()
	pool := tensor.NewPool()
	d := Decoder{Pool: pool, MaxInput: limit}
	req := &kserve.Request{ModelName: "m"}
	check(req, d.DecodeGenerate(req, []byte(text), someInputs))
	req.Reset()
	require.Zero(t, pool.Outstanding())
}

// TestGenerateShape checks that the last variable dimension takes what the fixed
// ones leave.
func TestGenerateShape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"I":5}`:                 "[1]",
		`{"I":[1,2,3]}`:           "[3]",
		`{"I":[]}`:                "[0]",
		`{"F":[1,2,3,4,5,6]}`:     "[1,2,3]",
		`{"F":[]}`:                "[1,2,0]",
		`{"S":"a"}`:               "[1,1]",
		`{"S":["a","b"]}`:         "[2,1]",
		`{"B":[true,false]}`:      "[2]",
		`{"I":[[1],[2]]}`:         "[2]", // Triton flattens as many elements as the outer list has
		`{"F":[[1,2,3],[4,5,6]]}`: "[1,2,3]",
		`{"F":[ [ [1,2] , [3,4] ], [[5,6],[7,8]]]}`: "[2,2,2]",
		`{"F":[[],[]]}`:             "[1,2,0]",
		`{"S":[["a"],["b"]]}`:       "[2,1]",
		`{"F":[[1,2],[3,4],[5,6]]}`: "",
		`{"F":[1,2,3]}`:             "",
		`{"B":true}`:                "",
		`{"B":[true,true,true]}`:    "",
	} {
		decodeGenerate(t, text, 0, func(r *kserve.Request, err error) {
			if want == "" {
				require.ErrorContains(t, err, "The schema can not convert input '", text)
				require.Equal(t, status.InvalidArg, status.CodeOf(err))
				return
			}
			require.NoError(t, err, text)
			require.Equal(t, want, r.Inputs[0].Shape.String(), text)
			if n, _ := r.Inputs[0].Shape.Elements(); r.Inputs[0].Name == "F" && n > 0 {
				got := bytesOf(t, &r.Inputs[0])
				for i := range n { // 1, 2, 3 in row-major order
					require.Equal(t, math.Float32bits(float32(i+1)), binary.LittleEndian.Uint32(got[4*i:]), text)
				}
			}
		})
	}
}

// TestGenerateRagged: nested lists of different lengths are no tensor.
func TestGenerateRagged(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"F":[[1,2,3],[4,5]]}`, `{"F":[[1,2,3],[4,5,[6]]]}`, `{"F":[[1,2,3],4]}`, `{"F":[[[1],[2]],[[3,4],[]]]}`} {
		decodeGenerate(t, text, 0, func(_ *kserve.Request, err error) { require.Error(t, err, text) })
	}
}

func TestGenerateLimits(t *testing.T) {
	t.Parallel()
	const hint = " Use --http-max-input-size to increase the limit."
	for text, want := range map[string]string{
		`{"I":[` + strings.Repeat("1,", 40) + `1]}`:              "request JSON size of 89 bytes exceeds the maximum allowed input size of 64 bytes." + hint,
		`{"I":[1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7]}`:              "request size of 0 bytes with input 'I' of size 68 bytes exceeds the maximum allowed input size of 64." + hint,
		`{"I":[1,2,3,4,5,6,7,8,9,0],"F":[1,2,3,4,5,6,7,8]}`:      "request size of 40 bytes with input 'F' of size 32 bytes exceeds the maximum allowed input size of 64." + hint,
		`{"I":[1,2,3,4,5,6,7,8,9,0,1,2],"S":["12345678901234"]}`: "request size of 48 bytes with input 'S' of size 18 bytes exceeds the maximum allowed input size of 64." + hint,
		`{"I":[1,2,3,4,5,6,7,8,9,0,1,2],"S":["123456789012"]}`:   "",
		`{"?":1}`: "input '?' has unsupported datatype <invalid>",
	} {
		decodeGenerate(t, text, 64, func(_ *kserve.Request, err error) {
			if want == "" {
				require.NoError(t, err, text)
				return
			}
			require.EqualError(t, err, want, text)
		})
	}
}

func TestEncodeGenerated(t *testing.T) {
	t.Parallel()
	resp := kserve.Response{ModelName: "m", ModelVersion: "3", ID: "x"}
	resp.Parameters = []kserve.Parameter{
		{Name: "zeta", Kind: kserve.ParamInt, Int: -1},
		{Name: "Alpha", Kind: kserve.ParamBool, Bool: true},
		{Name: "model_name", Kind: kserve.ParamString, String: "lost"},
		{Name: "out", Kind: kserve.ParamDouble, Double: 0.5},
	}
	for _, name := range []string{"out", "n", "id"} {
		o := resp.AddOutput()
		o.Name, o.DataType, o.Shape = name, tensor.Uint8, tensor.Shape{2}
		o.Data = tensor.NewData(tensor.HeapBuffer([]byte{7, 8}))
	}
	var e Encoder
	for range 2 {
		b, err := e.EncodeGenerated([]byte("data: "), &resp)
		require.NoError(t, err)
		require.Equal(t, `data: {"Alpha":true,"id":"x","model_name":"m","model_version":"3","n":[7,8],"out":0.5,"zeta":-1}`, string(b))
	}
	resp.Outputs[1].DataType = tensor.FP16
	_, err := e.EncodeGenerated(nil, &resp)
	require.EqualError(t, err, "sending FP16 data via JSON is not supported. Please use the binary data format for output")
}

func FuzzDecodeGenerate(f *testing.F) {
	for _, text := range []string{
		`{"I":[1,2],"F":[0.5,1e3],"S":"a\u00e9","B":[true,false],"id":"x","k":1.5,"parameters":{"l":"m","I":3}}`,
		`{"S":["a",["b"]],"H":[]}`, `{"I":[[1],[2]],"id":5}`, `{"parameters":{"parameters":{}}}`, `[]`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		decodeGenerate(t, string(text), 1<<16, func(r *kserve.Request, err error) {
			if err != nil {
				require.NotEmpty(t, err.Error())
				return
			}
			for i := range r.Inputs {
				in := &r.Inputs[i]
				n, err := in.Shape.Elements()
				require.NoError(t, err)
				if in.DataType != tensor.Bytes {
					require.EqualValues(t, n*int64(in.DataType.Size()), in.Data.Len())
				}
			}
		})
	})
}
