package builtin_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/infer"
)

const tokens = `max_batch_size: 4
input { name: "text" data_type: TYPE_STRING dims: [ 1 ] }
output [ { name: "ids" data_type: TYPE_INT64 dims: [ -1 ] }, { name: "mask" data_type: TYPE_INT64 dims: [ -1 ] } ]
`

const scores = `max_batch_size: 4
input { name: "logits" data_type: TYPE_FP32 dims: [ 3 ] }
output [ { name: "best" data_type: TYPE_STRING dims: [ 1 ] }, { name: "share" data_type: TYPE_FP32 dims: [ 3 ] } ]
`

func setting(name, value string) string {
	return `parameters { key: "` + name + `" value { string_value: "` + value + `" } }`
}

// serve gives one request of one input to a backend.
func serve(t *testing.T, b backend.Backend, config string, d tensor.DataType, shape tensor.Shape, data []byte) (*infer.Response, error) {
	t.Helper()
	c, err := modelconfig.Parse("m", []byte(config))
	require.NoError(t, err)
	pool, dir := tensor.NewPool(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vocab.txt"), []byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\ngood\nbad\n"), 0o644))
	m, err := b.Load(t.Context(), backend.Spec{Config: c.ModelConfig, Pool: pool, Dir: dir})
	if err != nil {
		return nil, err
	}
	i, err := m.NewInstance(t.Context(), backend.Placement{})
	require.NoError(t, err)
	r := infer.NewRequest()
	r.Unary()
	r.Pool = pool
	in := r.AddInput()
	in.Name, in.DataType, in.Shape, in.Data = c.GetInput()[0].GetName(), d, shape, tensor.NewData(tensor.HeapBuffer(data))
	batch := &infer.Batch{}
	batch.Add(r)
	require.NoError(t, i.Execute(t.Context(), batch))
	resp, err := r.Wait(t.Context())
	r.Release()
	r.Release()
	t.Cleanup(func() {
		if resp != nil {
			resp.Release()
		}
		require.Zero(t, pool.Outstanding())
	})
	return resp, err
}

func texts(all ...string) []byte {
	var mem []byte
	for _, s := range all {
		mem = append(binary.LittleEndian.AppendUint32(mem, uint32(len(s))), s...)
	}
	return mem
}

func longs(t *tensor.Data) []int64 {
	mem, _ := t.Contiguous()
	var all []int64
	for i := 0; i < len(mem); i += 8 {
		all = append(all, int64(binary.LittleEndian.Uint64(mem[i:])))
	}
	return all
}

func TestTokenizer(t *testing.T) {
	t.Parallel()
	resp, err := serve(t, builtin.Tokenizer{}, tokens+setting("pad_to_multiple_of", "4"), tensor.Bytes, tensor.Shape{2, 1}, texts("good", "bad Good, bad"))
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{2, 8}, resp.Outputs[0].Shape)
	require.Equal(t, []int64{2, 4, 3, 0, 0, 0, 0, 0, 2, 5, 4, 1, 5, 3, 0, 0}, longs(&resp.Outputs[0].Data))
	require.Equal(t, []int64{1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0}, longs(&resp.Outputs[1].Data))
}

func TestTokenizerChecksItsConfiguration(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		scores:                                                   "expected input datatype to be STRING, got TYPE_FP32",
		tokens + setting("vocabulary", "../x"):                   "the vocabulary '../x' is outside the version's folder",
		tokens + setting("vocabulary_size", "4"):                 "parameter 'vocabulary_size' must be more than 4, got 4",
		tokens + setting("max_length", "1"):                      "parameter 'max_length' must be at least 2, got 1",
		tokens + setting("max_length", "x"):                      "parameter 'max_length' must be a number that is not negative, got 'x'",
		`input { name: "a" data_type: TYPE_STRING dims: [ 1 ] }`: "expected 1 or 2 outputs, got 0",
	} {
		_, err := serve(t, builtin.Tokenizer{}, config, tensor.Bytes, nil, nil)
		require.EqualError(t, err, want)
	}
	_, err := serve(t, builtin.Tokenizer{}, tokens+setting("vocabulary", "none.txt"), tensor.Bytes, nil, nil)
	require.ErrorContains(t, err, "reading the vocabulary: ")
}

func TestPostprocessor(t *testing.T) {
	t.Parallel()
	var mem []byte
	for _, f := range []float32{1, 3, 2, 5, -5, 5, 0, 0, 0} {
		mem = binary.LittleEndian.AppendUint32(mem, math.Float32bits(f))
	}
	resp, err := serve(t, builtin.Postprocessor{}, scores+setting("labels", "cat, dog"), tensor.FP32, tensor.Shape{3, 3}, mem)
	require.NoError(t, err)
	names, _ := resp.Outputs[0].Data.Contiguous()
	require.Equal(t, texts("dog", "cat", "cat"), names)
	require.Equal(t, tensor.Shape{3, 1}, resp.Outputs[0].Shape)
	shares, _ := resp.Outputs[1].Data.Contiguous()
	for row := range 3 {
		sum := 0.0
		for i := range 3 {
			sum += float64(math.Float32frombits(binary.LittleEndian.Uint32(shares[4*(3*row+i):])))
		}
		require.InDelta(t, 1, sum, 1e-6)
	}
	_, err = serve(t, builtin.Postprocessor{}, tokens, tensor.FP32, nil, nil)
	require.EqualError(t, err, "expected input datatype to be FP32, got TYPE_STRING")
}
