package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
)

func placed(offset, size int64) map[string]*inferencepb.InferParameter {
	number := func(v int64) *inferencepb.InferParameter {
		return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: v}}
	}
	return map[string]*inferencepb.InferParameter{
		"shared_memory_region":    {ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: "r"}},
		"shared_memory_offset":    number(offset),
		"shared_memory_byte_size": number(size),
	}
}

func placedSample() *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName: "m",
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{
			{Name: "a", Datatype: "INT8", Shape: []int64{4}, Parameters: placed(8, 4)},
			{Name: "b", Datatype: "INT8", Shape: []int64{2}},
			{Name: "c", Datatype: "BYTES", Shape: []int64{1}, Parameters: placed(0, 5)},
			{Name: "d", Datatype: "INT8", Shape: []int64{0}, Parameters: placed(3, 0)},
			{Name: "e", Datatype: "INT8", Shape: []int64{1}},
		},
		Outputs: []*inferencepb.ModelInferRequest_InferRequestedOutputTensor{
			{Name: "x", Parameters: placed(16, 24)}, {Name: "y"},
		},
		RawInputContents: [][]byte{{77, 78}, {79}},
	}
}

// The raw contents are those of the inputs that are not in shared memory. The
// faults are in the recorded responses of server/shm.
func TestDecodeRegions(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	rs := tensortest.NewRegions(pool)
	m := &kserve.Request{}
	r := &rpc.Request{Message: m, Regions: rs}
	data := split(wire(t, placedSample()), 0)
	require.NoError(t, rpc.NewCodec(pool).Unmarshal(data, r))
	data.Free()
	require.NoError(t, r.Broken)
	require.NoError(t, r.Err)
	for i, want := range [][]byte{{8, 9, 10, 11}, {77, 78}, {0, 1, 2, 3, 4}, {}, {79}} {
		require.Equal(t, want, dataOf(&m.Inputs[i]), i)
	}
	into, ok := m.Into("x")
	require.True(t, ok)
	require.Equal(t, tensor.Segment{Buffer: rs.Memory, Off: 16, N: 24}, into)
	require.Same(t, rs.Memory, m.Inputs[0].Data.Segment(0).Buffer, "not copied")
	require.NotSame(t, rs.Memory, m.Inputs[2].Data.Segment(0).Buffer, "copied")
	m.Reset()
	rs.Memory.Release()
	require.Zero(t, pool.Outstanding())
}

// FuzzDecodeRegions: whatever regions a message names, it gets no bytes
// but those of a region, and all references come back.
func FuzzDecodeRegions(f *testing.F) {
	f.Add(wire(f, placedSample()), uint16(0))
	f.Add(wire(f, placedSample()), uint16(5))
	f.Add(wire(f, paramSample()), uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, frame uint16) {
		pool := tensor.NewPool()
		rs := tensortest.NewRegions(pool)
		m := &kserve.Request{}
		r := &rpc.Request{Message: m, Regions: rs}
		data := split(b, int(frame))
		if err := rpc.NewCodec(pool).Unmarshal(data, r); err != nil {
			t.Fatal(err)
		}
		data.Free()
		for i := range m.Inputs {
			d := &m.Inputs[i].Data
			if d.Segments() == 1 && d.Segment(0).Buffer == rs.Memory {
				if s := d.Segment(0); int(s.Bytes()[0]) != s.Off {
					t.Fatalf("input at %d begins with %d", s.Off, s.Bytes()[0])
				}
			}
		}
		m.Reset()
		rs.Memory.Release()
		require.Zero(t, pool.Outstanding())
	})
}
