package rpc_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
)

// random makes tensors whose data lies in one or several pieces.
func random(r *rand.Rand, pool *tensor.Pool, add func() *kserve.Tensor) {
	for i := range r.IntN(4) {
		t := add()
		t.Name = strings.Repeat("n", r.IntN(200)) + string(rune('a'+i))
		t.DataType = tensor.DataTypes()[r.IntN(14)]
		for range r.IntN(5) {
			t.Shape = append(t.Shape, r.Int64()>>r.IntN(64)-1)
		}
		for range r.IntN(4) {
			b := pool.Get(1 + r.IntN(1<<r.IntN(18)))
			for k := range b.Bytes() {
				b.Bytes()[k] = byte(r.Uint32())
			}
			t.Data.Append(b, 0, b.Len())
			b.Release()
		}
	}
}

func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	c := rpc.NewCodec(pool)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var in kserve.Request
		in.ModelName, in.ModelVersion, in.ID = "m", strings.Repeat("1", r.IntN(3)), strings.Repeat("i", r.IntN(300))
		in.Priority, in.TimeoutMicros = r.Uint64()>>r.IntN(64)&7, r.Uint64()>>60
		in.SequenceIDStr = strings.Repeat("s", r.IntN(2))
		in.SequenceStart = in.SequenceIDStr != ""
		in.EmptyFinal = r.IntN(2) == 0
		in.Parameters = []kserve.Parameter{
			{Name: "i", Kind: kserve.ParamInt, Int: -r.Int64()},
			{Name: "d", Kind: kserve.ParamDouble, Double: r.NormFloat64()},
			{Name: "s", Kind: kserve.ParamString, String: "ü"},
			{Name: "b", Kind: kserve.ParamBool},
		}[:r.IntN(5)]
		in.Outputs = []kserve.RequestedOutput{{Name: "a"}, {Name: "b", Classification: r.Uint32()}}[:r.IntN(3)]
		random(r, pool, in.AddInput)

		data, err := c.Marshal(&in)
		require.NoError(t, err)
		var pb inferencepb.ModelInferRequest
		require.NoError(t, proto.Unmarshal(data.Materialize(), &pb))
		var out kserve.Request
		got := rpc.Request{Message: &out}
		require.NoError(t, c.Unmarshal(data, &got))
		require.NoError(t, got.Broken)
		require.NoError(t, got.Err)
		data.Free()
		requireTensors(t, in.Inputs, out.Inputs)
		for i := range in.Inputs {
			require.Equal(t, dataOf(&in.Inputs[i]), append([]byte{}, pb.GetRawInputContents()[i]...))
		}
		if len(in.Outputs) > 0 {
			require.Equal(t, in.Outputs, out.Outputs)
		}
		if len(in.Parameters) > 0 {
			require.Equal(t, in.Parameters, out.Parameters)
		}
		require.Equal(t, in.ID, out.ID)
		require.Equal(t, in.SequenceIDStr, out.SequenceIDStr)
		require.Equal(t, in.SequenceStart, out.SequenceStart)
		require.Equal(t, in.Priority, out.Priority)
		require.Equal(t, in.TimeoutMicros, out.TimeoutMicros)
		require.Equal(t, in.EmptyFinal, out.EmptyFinal)
		in.Reset()
		out.Reset()
		require.Zero(t, pool.Outstanding())
	}
}

func requireTensors(t *testing.T, want, got []kserve.Tensor) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i].Name, got[i].Name)
		require.Equal(t, want[i].DataType, got[i].DataType)
		require.True(t, want[i].Shape.Equal(got[i].Shape))
		require.Equal(t, dataOf(&want[i]), dataOf(&got[i]))
	}
}

func TestResponseRoundTrip(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	c := rpc.NewCodec(pool)
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		in := kserve.Response{ModelName: "m", ModelVersion: "12", ID: strings.Repeat("i", r.IntN(3))}
		in.Parameters = []kserve.Parameter{{Name: "u", Kind: kserve.ParamUint, Uint: r.Uint64()}}[:r.IntN(2)]
		random(r, pool, in.AddOutput)
		data, err := c.Marshal(&in)
		require.NoError(t, err)
		whole := data.Materialize()
		require.Len(t, whole, rpc.ResponseSize(&in))
		var pb inferencepb.ModelInferResponse
		require.NoError(t, proto.Unmarshal(whole, &pb))
		require.Len(t, pb.GetRawOutputContents(), len(in.Outputs))
		frames := split(whole, r.IntN(20000))
		var out kserve.Response
		require.NoError(t, c.Unmarshal(frames, &out))
		data.Free()
		frames.Free()
		requireTensors(t, in.Outputs, out.Outputs)
		require.Equal(t, in.ID, out.ID)
		if len(in.Parameters) > 0 {
			require.Equal(t, in.Parameters, out.Parameters)
		}
		in.Reset()
		out.Reset()
		require.Zero(t, pool.Outstanding())
	}
}

// TestAppendMessage: what is appended is what Marshal writes, and tensors that would be lent are not appended.
func TestAppendMessage(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	c := rpc.NewCodec(pool)
	r := rand.New(rand.NewPCG(5, 6))
	appended, lent := 0, 0
	for i := range 300 {
		in := kserve.Response{ModelName: "m", ModelVersion: "12", ID: strings.Repeat("i", r.IntN(3))}
		random(r, pool, in.AddOutput)
		var v any = &in
		if i%2 == 1 {
			v = &rpc.StreamResponse{Error: strings.Repeat("e", r.IntN(3)), Response: &in}
		}
		large := slices.ContainsFunc(in.Outputs, func(t kserve.Tensor) bool { return t.Data.Len() > 16<<10 })
		got, ok := c.AppendMessage([]byte("before"), v)
		require.Equal(t, !large, ok)
		if ok {
			appended++
			data, err := c.Marshal(v)
			require.NoError(t, err)
			require.Equal(t, "before"+string(data.Materialize()), string(got))
			data.Free()
		} else {
			lent++
			require.Equal(t, "before", string(got))
		}
		in.Reset()
	}
	require.Positive(t, appended)
	require.Positive(t, lent)
	_, ok := c.AppendMessage(nil, &inferencepb.ServerLiveRequest{})
	require.False(t, ok, "others are not appended")
	require.Zero(t, pool.Outstanding())
}

// TestLentMemoryOutlivesTheMessage: gRPC may write after the message was reset.
func TestLentMemoryOutlivesTheMessage(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	c := rpc.NewCodec(pool)
	in := twoOutputs(pool, 100<<10)
	want := append([]byte{}, dataOf(&in.Outputs[1])...)
	data, err := c.Marshal(in)
	require.NoError(t, err)
	require.Greater(t, len(data), 2, "large tensors are lent, not copied")
	in.Reset()
	var pb inferencepb.ModelInferResponse
	require.NoError(t, proto.Unmarshal(data.Materialize(), &pb))
	require.Equal(t, want, pb.GetRawOutputContents()[1])
	require.NotZero(t, pool.Outstanding())
	data.Free()
	require.Zero(t, pool.Outstanding())
}

// TestDroppedMessageIsNoLeak: gRPC drops messages of broken connections.
func TestDroppedMessageIsNoLeak(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	c := rpc.NewCodec(pool)
	in := twoOutputs(pool, 100<<10)
	_, err := c.Marshal(in)
	require.NoError(t, err)
	in.Reset()
	require.Eventually(t, func() bool {
		runtime.GC()
		return pool.Outstanding() == 0
	}, time.Minute, time.Millisecond)
}

// TestNothingIsAllocatedForDeclaredLengths sends lengths without bytes.
func TestNothingIsAllocatedForDeclaredLengths(t *testing.T) {
	c := rpc.NewCodec(tensor.NewPool())
	r := &rpc.Request{Message: &kserve.Request{}}
	for _, tag := range []byte{0x0a, 0x22, 0x2a, 0x32, 0x3a, 0x7a} {
		data := mem.BufferSlice{mem.SliceBuffer{tag, 0xff, 0xff, 0xff, 0xff, 0x07}}
		n := testing.AllocsPerRun(10, func() { _ = c.Unmarshal(data, r) })
		require.Error(t, r.Broken)
		require.Zero(t, n)
	}
}

// TestManyParameters: the last of each name stays, however many there are, and
// finding that out is not quadratic.
func TestManyParameters(t *testing.T) {
	t.Parallel()
	var msg []byte
	for i := range 60000 {
		name := []byte{byte('a' + i%26), byte('a' + i/26%26), byte('a' + i/676%26), byte('a' + i/17576%26)}
		msg = append(msg, 0x22, 10, 0x0a, 4)
		msg = append(append(msg, name...), 0x12, 2, 0x10, byte(i%100))
	}
	m, wrong, err := decode(t, rpc.NewCodec(tensor.NewPool()), append(msg, msg[:12*26]...), 0)
	require.NoError(t, err)
	require.NoError(t, wrong)
	require.Len(t, m.Parameters, 60000)
	require.EqualValues(t, 25, m.Parameters[25].Int)
}

// TestManyContents: contents that come in parts are merged, and take memory in proportion to
// the bytes received.
func TestManyContents(t *testing.T) {
	const parts = 100000
	in := []byte("\x0a\x01A\x12\x05INT32\x1a\x03\xa0\x8d\x06") // [100000]
	for i := range parts {
		in = append(in, 0x2a, 2, 0x10, byte(i&0x7f)) // int_contents, not packed
		in = append(in, 0x2a, 0)
	}
	msg := append(protowire.AppendVarint([]byte{0x2a}, uint64(len(in))), in...)
	pool := tensor.NewPool()
	c := rpc.NewCodec(pool)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, wrong, err := decode(t, c, msg, 0)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.NoError(t, wrong)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10*len(msg)))
	data := dataOf(&m.Inputs[0])
	require.Len(t, data, 4*parts)
	for i := range parts {
		require.Equal(t, uint32(i&0x7f), binary.LittleEndian.Uint32(data[4*i:]))
	}
	m.Reset()
	require.Zero(t, pool.Outstanding())
}

// TestManyInputs: two bytes on the wire must not become a tensor without end.
func TestManyInputs(t *testing.T) {
	msg := bytes.Repeat([]byte{0x2a, 0}, 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, wrong, err := decode(t, rpc.NewCodec(tensor.NewPool()), msg, 0)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.EqualError(t, wrong, "the message has 1048576 inputs, at most 65536 can be in a message of 2097152 bytes")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(3<<20))
	_, wrong, err = decode(t, rpc.NewCodec(tensor.NewPool()), msg[:1<<10], 0)
	require.NoError(t, err)
	require.ErrorContains(t, wrong, "unable to find data for input tensor '' for model ''")
}
