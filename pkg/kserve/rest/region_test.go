package rest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// The recorded responses of server/shm have the order of the error messages.
func TestDecodeRegions(t *testing.T) {
	t.Parallel()
	text := `{"inputs":[{"name":"A","datatype":"INT8","shape":[4],"parameters":{"shared_memory_region":"r","shared_memory_offset":8,"shared_memory_byte_size":4}},` +
		`{"name":"B","datatype":"INT8","shape":[0],"parameters":{"shared_memory_region":"r"}},` +
		`{"name":"C","datatype":"BYTES","shape":[1],"parameters":{"shared_memory_region":"r","shared_memory_byte_size":5}}],` +
		`"outputs":[{"name":"X","parameters":{"shared_memory_region":"r","shared_memory_offset":16,"shared_memory_byte_size":24}},{"name":"Y"}]}`
	decode(t, text, len(text), func(r *kserve.Request, err error) {
		require.NoError(t, err)
		require.Equal(t, []byte{8, 9, 10, 11}, bytesOf(t, &r.Inputs[0]))
		require.Empty(t, bytesOf(t, &r.Inputs[1]))
		require.Equal(t, []byte{0, 1, 2, 3, 4}, bytesOf(t, &r.Inputs[2]))
		into, ok := r.Into("X")
		require.True(t, ok)
		require.Equal(t, tensor.Segment{Buffer: into.Buffer, Off: 16, N: 24}, into)
		require.Same(t, into.Buffer, r.Inputs[0].Data.Segment(0).Buffer, "not copied")
		require.NotSame(t, into.Buffer, r.Inputs[2].Data.Segment(0).Buffer, "copied")
		_, ok = r.Into("Y")
		require.False(t, ok)
	})
}

func TestRegionOutputsAreNotWritten(t *testing.T) {
	t.Parallel()
	req := &kserve.Request{Outputs: []kserve.RequestedOutput{{Name: "X", Placed: true}, {Name: "Y"}}}
	resp := &kserve.Response{ModelName: "m", ModelVersion: "1"}
	for _, name := range []string{"X", "Y"} {
		out := resp.AddOutput()
		out.Name, out.DataType, out.Shape = name, tensor.Uint8, tensor.Shape{2}
		if name == "Y" {
			out.Data = tensor.NewData(tensor.HeapBuffer([]byte{1, 2}))
		}
	}
	var e Encoder
	text, _, size, err := e.EncodeResponse(nil, resp, req)
	require.NoError(t, err)
	require.Zero(t, size)
	require.Equal(t, `{"model_name":"m","model_version":"1","outputs":[{"name":"X","datatype":"UINT8","shape":[2]},`+
		`{"name":"Y","datatype":"UINT8","shape":[2],"data":[1,2]}]}`, string(text))
	resp.Reset()
	req.Reset()
}
