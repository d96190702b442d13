package server_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/repo/example"
	"triton/server/servertest"
)

// transport sends one request to "simple" and returns sum and difference.
type transport func(s *servertest.Server, rows int, a, b []int32) (sum, diff []int32, err error)

// TestSameAnswers sends one random stream of requests to servers that batch,
// wait and run instances differently, over every transport: the answers are
// always the sums and differences.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	lib, _ := filepath.Glob(filepath.Join("..", "lib", "libonnxruntime*"))
	if len(lib) == 0 && os.Getenv("TRITON_ONNXRUNTIME_LIBRARY") == "" {
		t.Skip("ONNX Runtime is not in lib/: run `make onnxruntime`")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i, extra := range []string{
		"instance_group { kind: KIND_CPU count: 1 }",
		"instance_group { kind: KIND_CPU count: 3 }",
		"dynamic_batching { } instance_group { kind: KIND_CPU count: 1 }",
		"dynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 2000 } instance_group { kind: KIND_CPU count: 2 }",
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t, servertest.Repository(simple(t, extra)))
			var clients sync.WaitGroup
			for c := range 6 {
				send := []transport{viaJSON(newClient(t)), viaBinary(newClient(t)), viaGRPC(t, s)}[c%3]
				clients.Go(func() { stream(t, s, send, rand.New(rand.NewPCG(seed, uint64(c)))) })
			}
			clients.Wait()
		})
	}
}

// simple is a repository with the example model and more settings for it.
func simple(t *testing.T, extra string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, example.Write(t.Context(), dir, example.Options{Seed: 1, Models: []string{"simple"}}))
	config := `backend: "onnxruntime"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ 16 ] } ]
` + extra
	require.NoError(t, os.WriteFile(filepath.Join(dir, "simple", "config.pbtxt"), []byte(config), 0o644))
	return dir
}

func stream(t *testing.T, s *servertest.Server, send transport, rng *rand.Rand) {
	for range 30 {
		rows := 1 + rng.IntN(8)
		a, b := make([]int32, 16*rows), make([]int32, 16*rows)
		sum, diff := make([]int32, len(a)), make([]int32, len(a))
		for i := range a {
			a[i], b[i] = rng.Int32N(1<<20), rng.Int32N(1<<20)
			sum[i], diff[i] = a[i]+b[i], a[i]-b[i]
		}
		gotSum, gotDiff, err := send(s, rows, a, b)
		if err != nil || !equal(gotSum, sum) || !equal(gotDiff, diff) {
			t.Errorf("%d rows: %v: got %v and %v, want %v and %v", rows, err, gotSum, gotDiff, sum, diff)
			return
		}
	}
}

func equal(a, b []int32) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func viaJSON(c *http.Client) transport {
	return func(s *servertest.Server, rows int, a, b []int32) (sum, diff []int32, err error) {
		in := func(name string, v []int32) string {
			data, _ := json.Marshal(v)
			return fmt.Sprintf(`{"name":%q,"datatype":"INT32","shape":[%d,16],"data":%s}`, name, rows, data)
		}
		_, text, err := post(c, "http://"+s.HTTP+"/v2/models/simple/infer", `{"inputs":[`+in("INPUT1", b)+`,`+in("INPUT0", a)+`]}`)
		if err != nil {
			return nil, nil, err
		}
		var reply struct {
			Outputs []struct {
				Name string
				Data []int32
			}
			Error string
		}
		if err := json.Unmarshal([]byte(text), &reply); err != nil || len(reply.Outputs) != 2 {
			return nil, nil, fmt.Errorf("%s: %w", text, err)
		}
		return reply.Outputs[0].Data, reply.Outputs[1].Data, nil
	}
}

func viaBinary(c *http.Client) transport {
	return func(s *servertest.Server, rows int, a, b []int32) (sum, diff []int32, err error) {
		in := func(name string) string {
			return fmt.Sprintf(`{"name":%q,"datatype":"INT32","shape":[%d,16],"parameters":{"binary_data_size":%d}}`, name, rows, 64*rows)
		}
		head := `{"inputs":[` + in("INPUT0") + `,` + in("INPUT1") + `],"parameters":{"binary_data_output":true}}`
		req, err := http.NewRequest(http.MethodPost, "http://"+s.HTTP+"/v2/models/simple/infer",
			bytes.NewReader(append(append([]byte(head), packed(a)...), packed(b)...)))
		if err != nil {
			return nil, nil, err
		}
		req.Header.Set("Inference-Header-Content-Length", fmt.Sprint(len(head)))
		resp, err := c.Do(req)
		if err != nil {
			return nil, nil, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || len(text) < 128*rows || resp.StatusCode != http.StatusOK {
			return nil, nil, fmt.Errorf("status %d: %q: %w", resp.StatusCode, text, err)
		}
		data := text[len(text)-128*rows:]
		return unpacked(data[:64*rows]), unpacked(data[64*rows:]), nil
	}
}

func viaGRPC(t *testing.T, s *servertest.Server) transport {
	g := dial(t, s.GRPC)
	return func(_ *servertest.Server, rows int, a, b []int32) (sum, diff []int32, err error) {
		in := func(name string) *inferencepb.ModelInferRequest_InferInputTensor {
			return &inferencepb.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT32", Shape: []int64{int64(rows), 16}}
		}
		resp, err := g.ModelInfer(t.Context(), &inferencepb.ModelInferRequest{
			ModelName: "simple", RawInputContents: [][]byte{packed(a), packed(b)},
			Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{in("INPUT0"), in("INPUT1")},
		})
		if err != nil {
			return nil, nil, err
		}
		return unpacked(resp.RawOutputContents[0]), unpacked(resp.RawOutputContents[1]), nil
	}
}

func packed(v []int32) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

func unpacked(b []byte) []int32 {
	v := make([]int32, len(b)/4)
	if _, err := binary.Decode(b, binary.LittleEndian, v); err != nil {
		panic(err)
	}
	return v
}
