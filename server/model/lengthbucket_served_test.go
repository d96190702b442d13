package model_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/repo/example"
	"triton/server/backend/onnx"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/servertest"
)

const classifier = `backend: "onnxruntime"
max_batch_size: 32
input [
  { name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] },
  { name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] }
]
output { name: "logits" data_type: TYPE_FP32 dims: [ 2 ] }
`

const alone = "dynamic_batching { }\n"

// buckets waits for the eight texts that each bucket gets, however slowly they come.
const buckets = `
dynamic_batching { preferred_batch_size: [ 8 ] max_queue_delay_microseconds: 60000000 }
parameters { key: "length_buckets" value { string_value: "16, 32, 64" } }
parameters { key: "length_bucket_inputs" value { string_value: "input_ids" } }
parameters { key: "length_bucket_mask" value { string_value: "attention_mask" } }
`

// lengthModels are the text classifier twice, with and without buckets.
func lengthModels(t *testing.T) string {
	dir := t.TempDir()
	from := filepath.Join(dir, "example")
	require.NoError(t, example.Write(t.Context(), from, example.Options{Seed: 1, Models: []string{"text_classifier"}}))
	repository := filepath.Join(dir, "models")
	for name, config := range map[string]string{"plain": classifier + alone, "bucketed": classifier + buckets} {
		require.NoError(t, os.MkdirAll(filepath.Join(repository, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(repository, name, "config.pbtxt"), []byte(config), 0o644))
		require.NoError(t, os.Link(filepath.Join(from, "text_classifier", "1", "model.onnx"), filepath.Join(repository, name, "1", "model.onnx")))
	}
	return repository
}

// askLength submits a text of that many tokens and returns a function that waits for the logits.
func askLength(t *testing.T, s *servertest.Server, model string, length int, mask bool) func() [2]float64 {
	m, err := s.Service().Model(model, "")
	require.NoError(t, err)
	defer m.Release()
	r, got := infer.NewRequest(), make(infertest.Responses, 1)
	defer r.Release()
	r.Sink = got
	add := func(name string, value func(i int) uint64) {
		in := r.AddInput()
		in.Name, in.DataType, in.Shape = name, tensor.Int64, append(in.Shape[:0], 1, int64(length))
		var data []byte
		for i := range length {
			data = binary.LittleEndian.AppendUint64(data, value(i))
		}
		b := tensor.HeapBuffer(data)
		in.Data = tensor.NewData(b)
	}
	add("input_ids", func(i int) uint64 { return uint64(1000 + 37*i*length%20000) })
	if mask {
		add("attention_mask", func(int) uint64 { return 1 })
	}
	require.NoError(t, m.Submit(r))
	return func() [2]float64 {
		resp := <-got
		defer resp.Release()
		require.NoError(t, resp.Err)
		mem, _ := resp.Output("logits").Data.Contiguous()
		value := func(at int) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(mem[at:])))
		}
		return [2]float64{value(0), value(4)}
	}
}

// TestLengthsServed: a model that uses its mask answers the same with and without buckets, clients need
// not send the mask, and texts of different lengths share batches.
func TestLengthsServed(t *testing.T) {
	t.Parallel()
	if _, err := onnx.Find(onnx.Search{Getenv: os.Getenv, Directory: filepath.Join("..", "..")}); err != nil {
		t.Skip("needs the ONNX Runtime library: run make onnxruntime or set " + onnx.Environment)
	}
	s := servertest.Start(t, servertest.Repository(lengthModels(t)))
	const n = 24
	var plain, bucketed [n]func() [2]float64
	for i := range n {
		plain[i] = askLength(t, s, "plain", 2*i+1, true)
		bucketed[i] = askLength(t, s, "bucketed", 2*i+1, i%2 == 0)
	}
	seen := map[[2]float64]bool{}
	for i := range n {
		want, got := plain[i](), bucketed[i]()
		seen[want] = true
		for k := range 2 {
			require.InDelta(t, want[k], got[k], 1e-4, "length %d", 2*i+1)
		}
	}
	require.Greater(t, len(seen), n/2, "the texts differ")
	require.Equal(t, map[uint64]uint64{1: n}, batchSizes(t, s, "plain"), "every length runs alone")
	require.Equal(t, map[uint64]uint64{8: n / 8}, batchSizes(t, s, "bucketed"), "every bucket is a batch")
}

// batchSizes are the executions by their rows.
func batchSizes(t *testing.T, s *servertest.Server, model string) map[uint64]uint64 {
	t.Helper()
	answer, err := s.Service().Statistics(model, "")
	require.NoError(t, err)
	all := map[uint64]uint64{}
	for _, b := range answer.ModelStats[0].BatchStats {
		all[b.BatchSize] = b.ComputeInfer.Count
	}
	return all
}
