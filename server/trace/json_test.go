package trace

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// types are all that tensors may have.
var types = []tensor.DataType{
	tensor.Invalid, tensor.Bool, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32,
	tensor.Int64, tensor.FP16, tensor.FP32, tensor.FP64, tensor.Bytes, tensor.BF16,
}

func words[T any](values ...T) []byte {
	var b []byte
	for _, v := range values {
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}

// The values are those of Triton 2.51 for the same tensors, with two exceptions, because its reader
// expects numbers and CSV: Triton writes integers of 8 bits as characters, and does not double
// quotes in strings.
func TestTensorValues(t *testing.T) {
	t.Parallel()
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		kind tensor.DataType
		data []byte
		want string
	}{
		{tensor.Bool, []byte{1, 0, 2}, "1,0,1"},
		{tensor.Uint8, []byte("A\xff"), "65,255"},
		{tensor.Int8, []byte("C\n\xff"), "67,10,-1"},
		{tensor.Uint16, words[uint16](1, 65535), "1,65535"},
		{tensor.Uint32, words[uint32](1, math.MaxUint32), "1,4294967295"},
		{tensor.Uint64, words[uint64](math.MaxUint64, 0), "18446744073709551615,0"},
		{tensor.Int16, words[int16](-1, 2), "-1,2"},
		{tensor.Int32, words[int32](1, -2, 3), "1,-2,3"},
		{tensor.Int64, words[int64](math.MinInt64, 5), "-9223372036854775808,5"},
		{tensor.FP16, []byte{1, 2}, ""},
		{tensor.BF16, []byte{1, 2}, ""},
		{
			tensor.FP32,
			words[float32](1.5, 1e10, 0.1, 1234567, float32(math.NaN()), inf, -inf, 1e-5, 100000, 1000000, 0, float32(math.Copysign(0, -1))),
			"1.5,1e+10,0.1,1.23457e+06,nan,inf,-inf,1e-05,100000,1e+06,0,-0",
		},
		{tensor.FP64, words(1.5, 1e100, 1.0/3, -2.5e-7, 123456789.0), "1.5,1e+100,0.333333,-2.5e-07,1.23457e+08"},
		{tensor.Bytes, []byte("\x01\x00\x00\x00a\x04\x00\x00\x00q\"x\\\x00\x00\x00\x00"), `"a","q""x\",""`},
		{tensor.Bytes, []byte("\x01\x00\x00\x00a\xff\xff\xff\xff"), `"a"`},
		{tensor.Int32, []byte{1, 0, 0}, ""},
	} {
		require.Equal(t, c.want, string(appendValues(nil, c.kind, c.data)), c.kind.String())
	}
}

// TestFile has the activities of a trace of Triton's in the order of time.
func TestFile(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "level=TENSORS", "rate=1")
	before := monotonic()
	require.True(t, serve(tr, "m"))
	after := monotonic()
	require.NoError(t, tr.Shutdown(context.Background()))
	var names []string
	for i, e := range read(t, file) {
		require.EqualValues(t, 1, e.ID)
		switch {
		case e.Tensor != nil:
			names = append(names, e.Activity)
			require.Equal(t, "7", e.Tensor.Data)
			require.Equal(t, "1", e.Tensor.Shape)
			require.Equal(t, "INT32", e.Tensor.Type)
		case e.ModelName != "":
			names = append(names, "header")
			require.Equal(t, entry{ID: 1, ModelName: "m", ModelVersion: 1, RequestID: "r"}, e)
		default:
			require.Len(t, e.Timestamps, 1)
			names = append(names, e.Timestamps[0].Name)
			if i > 1 { // the frontend's times are the test's
				require.GreaterOrEqual(t, e.Timestamps[0].NS, before)
				require.LessOrEqual(t, e.Timestamps[0].NS, after)
			}
		}
	}
	require.Equal(t, []string{
		"HTTP_RECV_START", "HTTP_RECV_END", "header", "REQUEST_START", "TENSOR_QUEUE_INPUT", "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END",
		"COMPUTE_OUTPUT_START", "COMPUTE_END", "REQUEST_END", "TENSOR_BACKEND_OUTPUT", "INFER_RESPONSE_COMPLETE", "HTTP_SEND_START", "HTTP_SEND_END",
	}, names)
}

// TestChild is a request whose model calls another model: each request has an ID of its own and
// the ID of its parent, and all are written together.
func TestChild(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=1")
	parent := tr.Sample("ensemble", nil)
	outer := newRequest("ensemble", parent)
	child := parent.Child()
	inner := newRequest("part", child)
	outer.Release()
	outer.Release()
	sent(parent)
	require.Empty(t, files(t, file))
	require.True(t, serve(tr, "other"))
	run(inner)
	inner.Release()
	require.NoError(t, tr.Shutdown(context.Background()))
	var heads []entry
	for _, e := range read(t, file) {
		if e.ModelName != "" {
			heads = append(heads, e)
		}
	}
	require.Equal(t, []entry{
		{ID: 3, ModelName: "other", ModelVersion: 1, RequestID: "r"},
		{ID: 1, ModelName: "ensemble", ModelVersion: 1},
		{ID: 2, ModelName: "part", ModelVersion: 1, ParentID: 1},
	}, heads)
}

// newRequest is a request of one tensor that is about to be queued.
func newRequest(model string, t infer.Trace) *infer.Request {
	r := infer.NewRequest()
	r.ModelName, r.ModelVersion, r.Sink, r.Trace = model, "1", infertest.Discard, t
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Int32, tensor.Shape{1}
	in.Data = tensor.NewData(tensor.HeapBuffer(words[int32](7)))
	r.EmitReceived()
	return r
}

// TestHeaderIsJSON has a request id as clients may send it.
func TestHeaderIsJSON(t *testing.T) {
	t.Parallel()
	trace := &Trace{id: 1, model: "m", version: "1", name: "a\"b\\<\n\x01\xff"}
	require.Equal(t, `{"id":1,"model_name":"m","model_version":1,"request_id":"a\"b\\<\n\u0001`+"\uFFFD\"}", string(trace.appendHeader(nil)))
}
