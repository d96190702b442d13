package rpc_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
)

// split cuts a message into frames of at most n bytes; n 0 leaves it whole.
func split(b []byte, n int) mem.BufferSlice {
	var out mem.BufferSlice
	for n > 0 && len(b) > n {
		out = append(out, mem.Copy(b[:n], mem.DefaultBufferPool()))
		b = b[n:]
	}
	return append(out, mem.Copy(b, mem.DefaultBufferPool()))
}

func decode(t testing.TB, c *rpc.Codec, wire []byte, frame int) (*kserve.Request, error, error) {
	t.Helper()
	m := &kserve.Request{}
	r := &rpc.Request{Message: m}
	data := split(wire, frame)
	err := c.Unmarshal(data, r)
	data.Free()
	if err == nil {
		err = r.Broken
	}
	return m, r.Err, err
}

func dataOf(t *kserve.Tensor) []byte {
	b := make([]byte, t.Data.Len())
	t.Data.CopyTo(b)
	return b
}

func wire(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	return b
}

func sample() *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName: "simple", ModelVersion: "3", Id: "abc",
		Parameters: map[string]*inferencepb.InferParameter{
			"priority": {ParameterChoice: &inferencepb.InferParameter_Uint64Param{Uint64Param: 7}},
			"own":      {ParameterChoice: &inferencepb.InferParameter_DoubleParam{DoubleParam: 1.5}},
		},
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{
			{Name: "A", Datatype: "INT32", Shape: []int64{1, 16}},
			{Name: "B", Datatype: "BYTES", Shape: []int64{-1, math.MaxInt64}},
		},
		Outputs: []*inferencepb.ModelInferRequest_InferRequestedOutputTensor{
			{Name: "X", Parameters: map[string]*inferencepb.InferParameter{
				"classification": {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: 3}},
			}},
			{Name: "Y"},
		},
		RawInputContents: [][]byte{make([]byte, 64), []byte("\x03\x00\x00\x00abc"), []byte("surplus")},
	}
}

func TestDecodeRequest(t *testing.T) {
	t.Parallel()
	for _, frame := range []int{0, 1, 2, 7, 50} {
		pool := tensor.NewPool()
		c := rpc.NewCodec(pool)
		m, wrong, err := decode(t, c, wire(t, sample()), frame)
		require.NoError(t, err)
		require.NoError(t, wrong)
		require.Equal(t, "simple", m.ModelName)
		require.Equal(t, "3", m.ModelVersion)
		require.Equal(t, "abc", m.ID)
		require.EqualValues(t, 7, m.Priority)
		require.Equal(t, []kserve.Parameter{{Name: "own", Kind: kserve.ParamDouble, Double: 1.5}}, m.Parameters)
		require.Len(t, m.Inputs, 2)
		require.Equal(t, tensor.Int32, m.Inputs[0].DataType)
		require.Equal(t, tensor.Shape{-1, math.MaxInt64}, m.Inputs[1].Shape)
		require.Equal(t, "\x03\x00\x00\x00abc", string(dataOf(&m.Inputs[1])))
		model, _ := pool.Copied()
		require.Zero(t, model)
		require.Equal(t, []kserve.RequestedOutput{{Name: "X", Classification: 3}, {Name: "Y"}}, m.Outputs)
		m.Reset()
		require.Zero(t, pool.Outstanding())
	}
}

func TestDecodeLargeKeepsFrames(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	c := rpc.NewCodec(pool)
	p := sample()
	big := make([]byte, 300<<10)
	for i := range big {
		big[i] = byte(i * 7 / 3)
	}
	p.RawInputContents = [][]byte{big, big[:100]}
	m, wrong, err := decode(t, c, wire(t, p), 16<<10)
	require.NoError(t, err)
	require.NoError(t, wrong)
	require.Greater(t, m.Inputs[0].Data.Segments(), 10)
	require.Equal(t, big, dataOf(&m.Inputs[0]))
	require.Equal(t, big[:100], dataOf(&m.Inputs[1]))
	m.Reset()
	require.Zero(t, pool.Outstanding())
}

// A frame of the transport owns its buffer, but is no owner that knows where memory is.
func TestFrameLocation(t *testing.T) {
	t.Parallel()
	m, broken, err := decode(t, rpc.NewCodec(tensor.NewPool()), wire(t, sample()), 0)
	require.NoError(t, broken)
	require.NoError(t, err)
	defer m.Reset()
	b := m.Inputs[0].Data.Segment(0).Buffer
	require.Zero(t, b.Location())
	require.Nil(t, b.Device())
	_, _, shared := b.Shared()
	require.False(t, shared)
}
