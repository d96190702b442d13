package server_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
)

// crowd is the number of models of these tests, room the number that fit into the memory.
const (
	crowd = 50
	room  = 5
)

// rows is the length of the input of the crowd's models: their weights have rows times columns elements.
const rows = 64

// writeCrowd writes 50 models: model i has weights of that many columns, and answers 64 * (i+1) to
// 64 ones.
func writeCrowd(t *testing.T, columns int64) string {
	t.Helper()
	dir := t.TempDir()
	for i := range crowd {
		weight := bytes.Repeat(binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(i+1))), int(rows*columns))
		f := onnxmodel.File{
			IRVersion: 8, Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "g",
			Inputs:  []onnxmodel.Value{onnxmodel.Tensor("X", onnxmodel.Float, 1, rows)},
			Outputs: []onnxmodel.Value{onnxmodel.Tensor("Y", onnxmodel.Float, 1, 1)},
			Weights: []onnxmodel.Weight{{
				Name: "W", Elem: onnxmodel.Float, Dims: []int64{rows, columns},
				Data: func(w io.Writer) error { _, err := w.Write(weight); return err },
			}},
			Nodes: []onnxmodel.Node{
				{Op: "MatMul", Inputs: []string{"X", "W"}, Outputs: []string{"P"}},
				{Op: "ReduceMax", Inputs: []string{"P"}, Outputs: []string{"Y"}, Attrs: []onnxmodel.Attr{onnxmodel.IntsAttr("axes", 1)}},
			},
		}
		model := filepath.Join(dir, crowdName(i), "1")
		require.NoError(t, os.MkdirAll(model, 0o755))
		out, err := os.Create(filepath.Join(model, "model.onnx"))
		require.NoError(t, err)
		require.NoError(t, f.Write(out))
		require.NoError(t, out.Close())
	}
	return dir
}

func crowdName(i int) string { return fmt.Sprintf("m%02d", i) }

var crowdRequest = `{"inputs":[{"name":"X","datatype":"FP32","shape":[1,64],"data":[` + strings.TrimSuffix(strings.Repeat("1,", rows), ",") + `]}]}`

// askCrowd sends a request to model i and checks the answer.
func askCrowd(c *http.Client, address string, i int) error {
	code, text, err := post(c, "http://"+address+"/v2/models/"+crowdName(i)+"/infer", crowdRequest)
	switch {
	case err != nil:
		return err
	case code != 200 || !strings.Contains(text, fmt.Sprintf(`"data":[%d.0]`, rows*(i+1))):
		return fmt.Errorf("model %d: status %d: %s", i, code, text)
	}
	return nil
}

// onDemand starts a server with a memory budget.
func onDemand(t *testing.T, dir, budget string, change func(*server.Options)) *servertest.Server {
	t.Helper()
	return servertest.Start(t, servertest.Repository(dir), servertest.With(func(o *server.Options) {
		o.Models.Control, o.Models.OnDemand.Budgets = repository.ControlAuto, []string{budget}
		if change != nil {
			change(o)
		}
	}))
}

// metric returns the value of a metric on the page.
func metric(t *testing.T, c *http.Client, s *servertest.Server, name string) float64 {
	t.Helper()
	_, page := get(t, c, "http://"+s.Metrics+"/metrics")
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(page)
	require.NotNil(t, m, "%s is not in\n%s", name, page)
	v, err := strconv.ParseFloat(m[1], 64)
	require.NoError(t, err)
	return v
}

// roomFor returns a budget for five models of a crowd, from the measured memory of one.
func roomFor(t *testing.T, dir string) string {
	t.Helper()
	s := onDemand(t, dir, "100%", nil)
	c := newClient(t)
	for i := range room { // the first load also takes what the library needs once
		require.NoError(t, askCrowd(c, s.HTTP, i))
	}
	time.Sleep(600 * time.Millisecond) // measurements are used again for a while
	size := math.Inf(1)
	for i := range room { // the least: what other tests take of the heap at the same time is measured too
		labels := `device="cpu",kind="%s",model="` + crowdName(i) + `",version="1"`
		size = min(size, metric(t, c, s, fmt.Sprintf("triton_model_memory_bytes{"+labels+"}", "measured")))
		require.Positive(t, metric(t, c, s, fmt.Sprintf("triton_model_memory_bytes{"+labels+"}", "estimated")))
	}
	require.Positive(t, size)
	s.Stop(t)
	return strconv.FormatInt(int64(size*(room+0.5)), 10)
}

// crowdTraffic returns n models by a seeded distribution.
func crowdTraffic(kind string, seed uint64, n int) []int {
	random := rand.New(rand.NewPCG(seed, 15))
	total := 0.0
	weights := make([]float64, crowd)
	for i := range weights {
		weights[i] = 1
		if kind == "zipf" {
			weights[i] = 1 / math.Pow(float64(i+1), 1.1)
		}
		total += weights[i]
	}
	all := make([]int, n)
	for i := range all {
		at := random.Float64() * total
		for m, w := range weights {
			if at -= w; at < 0 {
				all[i] = m
				break
			}
		}
	}
	return all
}

// TestMoreModelsThanMemory sends requests to 50 models with memory for five: none fails, all answers
// are right, and afterwards the loaded models are within the budget.
func TestMoreModelsThanMemory(t *testing.T) {
	t.Parallel()
	needsONNX(t)
	dir := writeCrowd(t, 1024)
	s := onDemand(t, dir, roomFor(t, dir), nil)
	c := newClient(t)
	for _, kind := range []string{"zipf", "uniform"} {
		var wg sync.WaitGroup
		errs := make(chan error, 4)
		for client := range 4 {
			wg.Go(func() {
				for _, m := range crowdTraffic(kind, uint64(client), 50) {
					if err := askCrowd(c, s.HTTP, m); err != nil {
						errs <- err
						return
					}
				}
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err, kind)
		}
	}
	loads, evicted := metric(t, c, s, "triton_model_demand_loads_total"), metric(t, c, s, `triton_model_evictions_total{reason="memory"}`)
	require.GreaterOrEqual(t, evicted, loads-float64(crowd))
	require.Positive(t, evicted)
	require.Positive(t, metric(t, c, s, "triton_model_thrash_loads_total"))
	// Requests add memory to a model, which is measured some time after them. Idle models leave then.
	require.Eventually(t, func() bool {
		return metric(t, c, s, `triton_model_memory_used_bytes{device="cpu"}`) <= metric(t, c, s, `triton_model_memory_budget_bytes{device="cpu"}`)
	}, time.Minute, 20*time.Millisecond)
	require.Zero(t, metric(t, c, s, "triton_model_demand_waiting_requests"))
}

// TestOnDemandOverEveryProtocol: the first request loads over gRPC, on a stream, with generate, and as a
// call of an ensemble; metadata and readiness load nothing.
func TestOnDemandOverEveryProtocol(t *testing.T) {
	t.Parallel()
	identity := servertest.Identity("INT32", "4", 0)
	s := servertest.Start(t,
		servertest.Model("http", identity), servertest.Model("unary", identity), servertest.Model("stream", identity), servertest.Model("events", identity),
		servertest.With(func(o *server.Options) { o.Models.Control = repository.ControlAuto }))
	c, g := newClient(t), dial(t, s.GRPC)
	for _, path := range []string{"/v2/health/ready", "/v2/models/http/ready", "/v2/models/http", "/v2/models/http/config", "/v2/models/http/versions/1"} {
		code, text := get(t, c, "http://"+s.HTTP+path)
		require.Equal(t, 200, code, "%s: %s", path, text)
	}
	code, _ := get(t, c, "http://"+s.HTTP+"/v2/models/none/ready")
	require.Equal(t, 400, code)
	md, err := g.ModelMetadata(t.Context(), &inferencepb.ModelMetadataRequest{Name: "unary"})
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, md.GetVersions())
	require.Zero(t, metric(t, c, s, "triton_model_demand_loads_total"))
	index, err := g.RepositoryIndex(t.Context(), &inferencepb.RepositoryIndexRequest{})
	require.NoError(t, err)
	require.Len(t, index.GetModels(), 4)
	for _, m := range index.GetModels() {
		require.Equal(t, "UNAVAILABLE", m.GetState())
		require.Equal(t, "not loaded: the first request loads it", m.GetReason())
	}

	body := `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[4],"data":[1,2,3,4]}],"parameters":{"timeout":10000000}}`
	code, text, err := post(c, "http://"+s.HTTP+"/v2/models/http/infer", body)
	require.NoError(t, err)
	require.Equal(t, 200, code, text)
	require.Contains(t, text, `"data":[1,2,3,4]`)
	code, text, err = post(c, "http://"+s.HTTP+"/v2/models/none/infer", body)
	require.NoError(t, err)
	require.Equal(t, 404, code, text)
	require.Equal(t, `{"error":"Request for unknown model: 'none' is not found"}`, text)
	code, text, err = post(c, "http://"+s.HTTP+"/v2/models/events/generate", `{"INPUT0":[1,2,3,4]}`)
	require.NoError(t, err)
	require.Equal(t, 200, code, text)

	request := func(model string) *inferencepb.ModelInferRequest {
		return &inferencepb.ModelInferRequest{ModelName: model, Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{
			Name: "INPUT0", Datatype: "INT32", Shape: []int64{4}, Contents: &inferencepb.InferTensorContents{IntContents: []int32{1, 2, 3, 4}},
		}}}
	}
	_, err = g.ModelInfer(t.Context(), request("unary"))
	require.NoError(t, err)
	stream, err := g.ModelStreamInfer(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(request("stream")))
	reply, err := stream.Recv()
	require.NoError(t, err)
	require.Empty(t, reply.GetErrorMessage())
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.EqualValues(t, 4, metric(t, c, s, "triton_model_demand_loads_total"))
}

// TestResidentLatency prints the table of docs/on-demand.md: 50 models of 20 MiB with memory for five, for
// the time in TRITON_ON_DEMAND each, such as 20s.
func TestResidentLatency(t *testing.T) { //nolint:paralleltest // it measures
	text := os.Getenv("TRITON_ON_DEMAND") //nolint:forbidigo // a lane of its own
	if text == "" {
		t.Skip("a measurement: run make on-demand")
	}
	needsONNX(t)
	length, err := time.ParseDuration(text)
	require.NoError(t, err)
	dir := writeCrowd(t, 20<<20/4/rows)
	budget := roomFor(t, dir)
	s := onDemand(t, dir, budget, func(o *server.Options) { o.LoadThreads = 1 })
	c := newClient(t)
	t.Logf("%-10s %9s %9s %7s %7s %9s %9s %9s %9s", "traffic", "requests", "resident", "loads", "failed", "p50", "p99", "load p50", "load p99")
	for m := range room {
		require.NoError(t, askCrowd(c, s.HTTP, m))
	}
	for _, kind := range []string{"quiet", "zipf", "uniform", "quiet"} {
		t.Log(crowdRun(t, c, s, kind, length))
	}
}

// crowdRun sends requests with a pause between them and returns a line of the table. One client sends to
// all models, another one to those that are loaded at the moment; without traffic for the others
// ("quiet") both do the latter. A request is resident if its model is loaded when it is sent; a
// reference keeps it loaded until the answer.
func crowdRun(t *testing.T, c *http.Client, s *servertest.Server, kind string, length time.Duration) string {
	t.Helper()
	before := metric(t, c, s, "triton_model_demand_loads_total")
	var mu sync.Mutex
	var resident, loading []time.Duration
	failed := 0
	send := func(m int, onlyLoaded bool) {
		held, unloaded := s.Service().Model(crowdName(m), "")
		if unloaded != nil && onlyLoaded {
			return
		}
		begin := time.Now()
		wrong := askCrowd(c, s.HTTP, m)
		took := time.Since(begin)
		if unloaded == nil {
			held.Release()
		}
		mu.Lock()
		switch {
		case wrong != nil:
			t.Log(wrong)
			failed++
		case unloaded == nil:
			resident = append(resident, took)
		default:
			loading = append(loading, took)
		}
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
	var wg sync.WaitGroup
	end := time.Now().Add(length)
	for client := range 2 {
		wg.Go(func() {
			for _, m := range crowdTraffic(kind, uint64(client), 1<<20) {
				if time.Now().After(end) {
					return
				}
				send(m, client == 1 || kind == "quiet")
			}
		})
	}
	wg.Wait()
	require.Zero(t, failed)
	loads := metric(t, c, s, "triton_model_demand_loads_total") - before
	return fmt.Sprintf("%-10s %9d %9d %7.0f %7d %9s %9s %9s %9s", kind, len(resident)+len(loading), len(resident), loads, failed,
		quantile(resident, 0.5), quantile(resident, 0.99), quantile(loading, 0.5), quantile(loading, 0.99))
}

func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))].Round(10 * time.Microsecond)
}
