package rpc_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
)

// arriving reads the first bytes of a message.
func arriving(c *rpc.Codec, message []byte, first, frame int) (rpc.Arriving, bool) {
	frames := split(message[:first], frame)
	defer frames.Free()
	return c.ReadArriving(frames, len(message))
}

func TestReadArriving(t *testing.T) {
	t.Parallel()
	one := &inferencepb.ModelInferRequest{
		ModelName: "m", ModelVersion: "2", Id: "id",
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "IN", Datatype: "UINT8", Shape: []int64{5000}}},
		RawInputContents: [][]byte{bytes.Repeat([]byte{7}, 5000)},
	}
	two := &inferencepb.ModelInferRequest{
		ModelName: "m", Inputs: append(one.Inputs[:1:1], one.Inputs[0]), RawInputContents: [][]byte{one.RawInputContents[0], one.RawInputContents[0]},
	}
	group := append([]byte("\x0b\x08\x01\x0c"), wire(t, one)...)
	lies := wire(t, one)[:4000] // its contents are longer than the message
	whole := wire(t, one)
	begin := len(whole) - 5000
	for name, c := range map[string]struct {
		message []byte
		first   int
		want    rpc.Arriving
	}{
		"in the contents":         {whole, 1000, rpc.Arriving{ModelName: "m", ModelVersion: "2", Contents: begin, Size: 5000}},
		"before the contents":     {whole, begin, rpc.Arriving{ModelName: "m", ModelVersion: "2", Contents: begin, Size: 5000}},
		"last byte missing":       {whole, len(whole) - 1, rpc.Arriving{ModelName: "m", ModelVersion: "2", Contents: begin, Size: 5000}},
		"after a group":           {group, 1000, rpc.Arriving{ModelName: "m", ModelVersion: "2", Contents: begin + 4, Size: 5000}},
		"all":                     {whole, len(whole), rpc.Arriving{}},
		"in the length":           {whole, begin - 1, rpc.Arriving{}},
		"in the input":            {whole, 12, rpc.Arriving{}},
		"nothing":                 {whole, 0, rpc.Arriving{}},
		"two inputs":              {wire(t, two), 1000, rpc.Arriving{}},
		"longer than the message": {lies, 1000, rpc.Arriving{}},
		"no message":              {bytes.Repeat([]byte{0xff}, 100), 50, rpc.Arriving{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, frame := range []int{0, 1, 3, 100} {
				got, ok := arriving(rpc.NewCodec(tensor.NewPool()), c.message, c.first, frame)
				require.Equal(t, c.want.Size > 0, ok)
				if ok {
					require.Equal(t, c.want, got)
				}
			}
		})
	}
}

// FuzzArriving: whatever the message is, and wherever it is cut, a message whose contents were
// copied to tensor memory is read as the same message in frames is.
func FuzzArriving(f *testing.F) {
	one := &inferencepb.ModelInferRequest{
		ModelName: "m", Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "IN", Datatype: "UINT8", Shape: []int64{2000}}},
		RawInputContents: [][]byte{bytes.Repeat([]byte{7}, 2000)},
	}
	b := wire(f, one)
	f.Add(b, uint16(1500), uint16(100))
	f.Add(append(b, 0x1a, 1, 'x'), uint16(60), uint16(0))
	f.Add(append(b, b...), uint16(60), uint16(7))
	f.Add(append(b, 0x3a, 1, 'x'), uint16(60), uint16(7)) // more contents than inputs
	f.Add(wire(f, sample()), uint16(20), uint16(3))
	f.Fuzz(func(t *testing.T, b []byte, first, frame uint16) {
		pool := tensor.NewPool()
		c := rpc.NewCodec(pool)
		a, ok := arriving(c, b, min(int(first), len(b)), int(frame))
		if !ok || a.Size <= 1<<10 {
			return
		}
		require.LessOrEqual(t, a.Contents+a.Size, len(b))
		want, wrong, broken := decode(t, c, b, int(frame))

		contents, err := pool.TryGet(a.Size)
		require.NoError(t, err)
		copy(contents.Bytes(), b[a.Contents:])
		frames := split(b[:a.Contents], int(frame))
		at := len(frames)
		frames = append(append(frames, rpc.Lend(contents)), split(b[a.Contents+a.Size:], int(frame))...)
		got := &rpc.Request{Message: &kserve.Request{}, Arrived: rpc.Arrived{Frame: at, Buffer: contents}}
		require.NoError(t, c.Unmarshal(frames, got))
		frames.Free()

		require.Equal(t, broken == nil, got.Broken == nil)
		require.Equal(t, wrong, got.Err)
		if broken == nil && wrong == nil {
			require.Equal(t, a.ModelName == want.ModelName, a.ModelName == got.Message.ModelName)
			require.Len(t, got.Message.Inputs, len(want.Inputs))
			for i := range want.Inputs {
				require.True(t, bytes.Equal(dataOf(&want.Inputs[i]), dataOf(&got.Message.Inputs[i])))
			}
		}
		contents.Release()
		want.Reset()
		got.Message.Reset()
		require.Zero(t, pool.Outstanding())
	})
}
