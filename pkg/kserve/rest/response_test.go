package rest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

func output(r *kserve.Response, name string, d tensor.DataType, shape tensor.Shape, data string) {
	o := r.AddOutput()
	o.Name, o.DataType, o.Shape = name, d, shape
	o.Data = tensor.NewData(tensor.HeapBuffer([]byte(data)))
}

func TestEncodeMembersInOrder(t *testing.T) {
	t.Parallel()
	r := &kserve.Response{ID: "a\"/é\x01", ModelName: "m", ModelVersion: "3", Parameters: []kserve.Parameter{
		{Name: "b", Kind: kserve.ParamBool, Bool: true},
		{Name: "i", Kind: kserve.ParamInt, Int: -1},
		{Name: "u", Kind: kserve.ParamUint, Uint: math.MaxUint64},
		{Name: "d", Kind: kserve.ParamDouble, Double: 1},
		{Name: "s", Kind: kserve.ParamString, String: "x"},
	}}
	output(r, "A", tensor.Int8, tensor.Shape{1, 2}, "\x01\xff")
	output(r, "B", tensor.Uint16, tensor.Shape{1}, "\x01\x02")
	output(r, "C", tensor.Bytes, tensor.Shape{2}, "\x01\x00\x00\x00x\x00\x00\x00\x00")
	output(r, "D", tensor.FP32, tensor.Shape{0}, "")
	var two tensor.Data
	two.Append(tensor.HeapBuffer([]byte{1, 0}), 0, 2)
	two.Append(tensor.HeapBuffer([]byte{1}), 0, 1)
	o := r.AddOutput()
	o.Name, o.DataType, o.Shape, o.Data = "E", tensor.Bool, tensor.Shape{3}, two
	req := &kserve.Request{BinaryOutput: true, Outputs: []kserve.RequestedOutput{{Name: "B", Binary: true}, {Name: "A"}, {Name: "C"}, {Name: "D"}, {Name: "E"}}}
	var e Encoder
	text, tail, size, err := e.EncodeResponse([]byte("<"), r, req)
	require.NoError(t, err)
	require.Equal(t, `<{"id":"a\"/é\u0001","model_name":"m","model_version":"3","parameters":{"b":true,"i":-1,"u":18446744073709551615,"d":1.0,"s":"x"},`+
		`"outputs":[{"name":"A","datatype":"INT8","shape":[1,2],"data":[1,-1]},{"name":"B","datatype":"UINT16","shape":[1],"parameters":{"binary_data_size":2}},`+
		`{"name":"C","datatype":"BYTES","shape":[2],"data":["x",""]},{"name":"D","datatype":"FP32","shape":[0],"data":[]},`+
		`{"name":"E","datatype":"BOOL","shape":[3],"data":[true,false,true]}]}`, string(text))
	require.Equal(t, 2, size)
	require.Len(t, tail, 1)
	require.Equal(t, "\x01\x02", string(tail[0].Bytes()))
	text, tail, size, err = e.EncodeResponse(nil, r, &kserve.Request{BinaryOutput: true})
	require.NoError(t, err)
	require.Contains(t, string(text), `"shape":[3],"parameters":{"binary_data_size":3}}`)
	require.Equal(t, 2+2+9+3, size)
	require.Len(t, tail, 6)
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d     tensor.DataType
		shape tensor.Shape
		data  string
		want  string
	}{
		{tensor.FP16, tensor.Shape{1}, "xx", "sending FP16 data via JSON is not supported. Please use the binary data format for output"},
		{tensor.BF16, tensor.Shape{1}, "xx", "sending BF16 data via JSON is not supported. Please use the binary data format for output"},
		{tensor.Int32, tensor.Shape{2}, "xxxx", "Failed to write 'data' field: output tensor shape does not match size of output for 'A'"},
		{tensor.Int32, tensor.Shape{1 << 62}, "xxxx", "Failed to write 'data' field: output tensor shape does not match size of output for 'A'"},
		{tensor.Bytes, tensor.Shape{2}, "\x01\x00\x00\x00x", "output tensor shape does not match size of output for 'A'"},
		{tensor.Bytes, tensor.Shape{1}, "\x09\x00\x00\x00x", "output tensor shape does not match size of output for 'A'"},
		{tensor.Int8, tensor.Shape{-1}, "", "output 'A' has shape [-1]: negative dimension"},
	} {
		r := &kserve.Response{ModelName: "m"}
		output(r, "A", c.d, c.shape, c.data)
		var e Encoder
		_, _, _, err := e.EncodeResponse(nil, r, &kserve.Request{})
		require.EqualError(t, err, c.want)
		require.IsType(t, &status.Error{}, err)
	}
}
