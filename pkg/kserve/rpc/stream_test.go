package rpc_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/invariant"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
)

// TestStreamResponseRoundTrip reads what we write with the protobuf library and
// with our own decoder, and what we read with neither differs.
func TestStreamResponseRoundTrip(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	c := rpc.NewCodec(pool)
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		in := rpc.StreamResponse{Error: strings.Repeat("e", r.IntN(3)*100), Response: &kserve.Response{}}
		in.Response.ID = strings.Repeat("i", r.IntN(3))
		in.Response.Parameters = []kserve.Parameter{
			{Name: "triton_final_response", Kind: kserve.ParamBool, Bool: r.IntN(2) == 0},
			{Name: "u", Kind: kserve.ParamUint, Uint: r.Uint64()},
		}[:r.IntN(3)]
		random(r, pool, in.Response.AddOutput)
		data, err := c.Marshal(&in)
		require.NoError(t, err)

		var pb inferencepb.ModelStreamInferResponse
		whole := data.Materialize()
		require.NoError(t, proto.Unmarshal(whole, &pb))
		require.Equal(t, proto.Size(&pb), len(whole), "no byte more than the library writes")
		require.NotNil(t, pb.GetInferResponse(), "present even when empty")
		out := rpc.StreamResponse{Response: &kserve.Response{}}
		require.NoError(t, c.Unmarshal(data, &out))
		data.Free()
		requireStream(t, &pb, &out)
		requireTensors(t, in.Response.Outputs, out.Response.Outputs)
		in.Response.Reset()
		out.Response.Reset()
		require.Zero(t, pool.Outstanding())
	}
}

func requireStream(t *testing.T, want *inferencepb.ModelStreamInferResponse, got *rpc.StreamResponse) {
	t.Helper()
	require.Equal(t, want.GetErrorMessage(), got.Error)
	w, g := want.GetInferResponse(), got.Response
	require.Equal(t, w.GetModelName(), g.ModelName)
	require.Equal(t, w.GetModelVersion(), g.ModelVersion)
	require.Equal(t, w.GetId(), g.ID)
	require.Len(t, g.Outputs, len(w.GetOutputs()))
	for i, out := range w.GetOutputs() {
		require.Equal(t, out.GetName(), g.Outputs[i].Name)
		require.True(t, g.Outputs[i].Shape.Equal(out.GetShape()))
		if out.GetContents() == nil {
			require.Equal(t, string(w.GetRawOutputContents()[i]), string(dataOf(&g.Outputs[i])))
		}
	}
	seen := map[string]kserve.Parameter{}
	for _, p := range g.Parameters {
		seen[p.Name] = p // the last one counts
	}
	require.Len(t, seen, len(w.GetParameters()))
	for name, p := range w.GetParameters() {
		require.Equal(t, p.GetBoolParam(), seen[name].Bool)
		require.Equal(t, p.GetInt64Param(), seen[name].Int)
		require.Equal(t, p.GetUint64Param(), seen[name].Uint)
		require.Equal(t, p.GetStringParam(), seen[name].String)
		require.Equal(t, math.Float64bits(p.GetDoubleParam()), math.Float64bits(seen[name].Double))
	}
}

// FuzzDecodeStreamResponse compares with the protobuf library, whatever the
// frames are; looks for panics and leaks.
func FuzzDecodeStreamResponse(f *testing.F) {
	response := &inferencepb.ModelInferResponse{
		ModelName: "m", Id: "1", Outputs: []*inferencepb.ModelInferResponse_InferOutputTensor{{Name: "Y", Datatype: "INT8", Shape: []int64{2}}},
		RawOutputContents: [][]byte{{1, 2}},
		Parameters: map[string]*inferencepb.InferParameter{
			"triton_final_response": {ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: true}},
		},
	}
	for _, m := range []*inferencepb.ModelStreamInferResponse{
		{}, {InferResponse: response}, {ErrorMessage: "wrong", InferResponse: &inferencepb.ModelInferResponse{Id: "1"}},
	} {
		f.Add(wire(f, m), uint16(0))
		f.Add(wire(f, m), uint16(3))
	}
	one := wire(f, &inferencepb.ModelStreamInferResponse{InferResponse: response})
	f.Add(append(one, one...), uint16(5))                     // merged
	f.Add([]byte("\x12\x03\x1a\x05abcde"), uint16(0))         // a field that ends behind its message
	f.Add([]byte("\x12\x02\x1a\x80\x01\x0a\x01x"), uint16(1)) // a length that does
	f.Fuzz(func(t *testing.T, b []byte, frame uint16) {
		pool := tensor.NewPool()
		got := rpc.StreamResponse{Response: &kserve.Response{}}
		data := split(b, int(frame))
		err := rpc.NewCodec(pool).Unmarshal(data, &got)
		data.Free()
		var want inferencepb.ModelStreamInferResponse
		if perr := proto.Unmarshal(b, &want); perr != nil {
			require.Error(t, err)
		} else if err == nil {
			requireStream(t, &want, &got)
		}
		got.Response.Reset()
		require.Zero(t, pool.Outstanding())
	})
}

// FuzzEncodeStreamResponse: what we write is what the library reads.
func FuzzEncodeStreamResponse(f *testing.F) {
	f.Add("", "m", "1", "id", "p", int64(1), []byte{1, 2})
	f.Add("failed", "", "", "", "", int64(-1), []byte{})
	f.Fuzz(func(t *testing.T, message, model, version, id, name string, dim int64, b []byte) {
		want := &inferencepb.ModelStreamInferResponse{
			ErrorMessage: message,
			InferResponse: &inferencepb.ModelInferResponse{
				ModelName: model, ModelVersion: version, Id: id,
				Parameters: map[string]*inferencepb.InferParameter{
					name: {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: dim}},
				},
				Outputs:           []*inferencepb.ModelInferResponse_InferOutputTensor{{Name: name, Datatype: "UINT8", Shape: []int64{dim}}},
				RawOutputContents: [][]byte{b},
			},
		}
		lib, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
		if err != nil {
			return // text that is not UTF-8
		}
		pool := tensor.NewPool()
		m := rpc.StreamResponse{Error: message, Response: &kserve.Response{
			ModelName: model, ModelVersion: version, ID: id,
			Parameters: []kserve.Parameter{{Name: name, Kind: kserve.ParamInt, Int: dim}},
		}}
		out := m.Response.AddOutput()
		out.Name, out.DataType, out.Shape = name, tensor.Uint8, tensor.Shape{dim}
		if len(b) > 0 {
			buf := pool.Get(len(b))
			copy(buf.Bytes(), b)
			out.Data.Append(buf, 0, len(b))
			buf.Release()
		}
		data, err := rpc.NewCodec(pool).Marshal(&m)
		require.NoError(t, err)
		require.Equal(t, lib, data.Materialize())
		data.Free()
		m.Response.Reset()
		require.Zero(t, pool.Outstanding())
	})
}

// The budget: writing costs the list of buffers.
func TestStreamAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("pools forget on purpose in this build")
	}
	pool := tensor.NewPool()
	c := rpc.NewCodec(pool)
	m := rpc.StreamResponse{Response: twoOutputs(pool, 64)}
	n := testing.AllocsPerRun(1000, func() {
		out, _ := c.Marshal(&m)
		out.Free()
	})
	require.LessOrEqual(t, n, 1.1)
	m.Response.Reset()
	require.Zero(t, pool.Outstanding())
}
