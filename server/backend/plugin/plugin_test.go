//go:build cgo && linux

package plugin_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/client"
	"triton/server"
	"triton/server/backend/plugin"
)

const ungrouped = "instance_group { count: 1 kind: KIND_CPU }"

func TestExecutions(t *testing.T) {
	s := serve(t, map[string]string{
		"echo": echo("", ungrouped), "late": echo("late", ungrouped), "error": echo("error", ungrouped),
		"silent": echo("silent", ungrouped), "nofinal": echo("no-final", ungrouped), "twice": echo("twice", ungrouped),
		"reshaped": strings.ReplaceAll(echo("", ungrouped), "dims: [ -1 ]", "dims: [ 2, 2 ] reshape { shape: [ 4 ] }"),
	})
	for name, want := range map[string]struct{ err string }{
		"echo": {}, "late": {}, "twice": {},
		"error":   {"not this batch"},
		"silent":  {"the backend released the request without a final response"},
		"nofinal": {"the backend released the request without a final response"},
	} {
		for range 3 {
			r := s.infer(t, name, 1, 2, 3)
			if want.err != "" {
				require.Contains(t, r.Error, want.err, name)
				continue
			}
			require.Equal(t, []int{1, 2, 3}, r.out(t), name)
			require.Equal(t, "a request", r.ID)
		}
	}
	require.True(t, s.log.has("after the final one"))
	r := s.post(t, "/v2/models/reshaped/infer", []byte(`{"inputs":[{"name":"IN","datatype":"INT32","shape":[1,2,2],"data":[1,2,3,4]}]}`))
	require.Equal(t, []int{1, 2, 3, 4}, r.out(t))
	require.Equal(t, []int{1, 2, 2}, r.Outputs[0].Shape)
}

// A response without outputs is one, as in NVIDIA's server: clients count them.
func TestStreamWithEmptyResponse(t *testing.T) {
	s := serve(t, map[string]string{"stream": echo("stream", ungrouped+" model_transaction_policy { decoupled: true }")})
	c, err := client.New(client.Options{Protocol: client.GRPC, Address: s.GRPC})
	require.NoError(t, err)
	defer c.Close()
	stream, err := c.InferStream(t.Context())
	require.NoError(t, err)
	defer stream.Close()
	require.NoError(t, stream.Send(&client.Request{
		Model: "stream", EmptyFinal: true, Inputs: []client.Tensor{client.NewTensor("IN", []int64{1, 1}, int32(7))},
	}))
	require.NoError(t, stream.CloseSend())
	var outputs []int
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		outputs = append(outputs, len(r.Outputs))
	}
	require.Equal(t, []int{1, 1, 1, 0, 0}, outputs) // the last one is the end
}

// A backend answers from its own threads while the garbage collector runs.
func TestLateAnswersUnderCollections(t *testing.T) {
	s := serve(t, map[string]string{"late": echo("late", "instance_group { count: 2 kind: KIND_CPU } dynamic_batching {}")})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 5 {
				in := make([]int, 1+1000*i)
				in[0] = i*100 + k
				if got := s.infer(t, "late", in...).out(t); !slices.Equal(in, got) {
					t.Errorf("got %v", got[0])
				}
				runtime.GC()
			}
		})
	}
	wg.Wait()
}

// Threads of a backend build responses to one request at the same time.
func TestResponsesBuiltTogether(t *testing.T) {
	s := serve(t, map[string]string{"m": echo("both", ungrouped)})
	for range 1000 {
		require.Equal(t, []int{1}, s.infer(t, "m", 1).out(t))
	}
}

func TestOutputsThatAreRefused(t *testing.T) {
	s := serve(t, map[string]string{
		"no-type": echo("no-type", ungrouped), "negative": echo("negative", ungrouped),
		"overflow": echo("overflow", ungrouped), "no-bytes": echo("no-bytes", ungrouped),
	})
	for model, want := range map[string]string{
		"no-type":  "output 'OUT' has no valid data type",
		"negative": "output 'OUT' has an invalid shape [1,-1]",
		"overflow": "output 'OUT' has an invalid shape [9223372036854775807,9223372036854775807]",
		"no-bytes": "output tensor shape does not match size of output for 'OUT'",
	} {
		require.Contains(t, s.infer(t, model, 1).Error, want, model)
	}
}

func TestMisuseIsRefused(t *testing.T) {
	s := serve(t, map[string]string{"misuse": echo("misuse", ungrouped)})
	r := s.infer(t, "misuse", 1)
	require.Empty(t, r.Error)
	var got []string
	for i := range len(r.Parameters) {
		got = append(got, fmt.Sprint(r.Parameters[fmt.Sprintf("e%02d", i)]))
	}
	dead := ": the %s is null, was freed, or is another object"
	require.Equal(t, []string{
		"[request id: a request] unknown request input name NONE",
		"[request id: a request] out of bounds index 9: request has 1 inputs",
		"[request id: a request] out of bounds index 9: request has 1 requested outputs",
		"[request id: a request] correlation ID in request is not a string",
		"TRITONBACKEND_RequestCorrelationId" + fmt.Sprintf(dead, "request"),
		"unexpected inference output 'NONE' for model 'misuse'",
		"response was nullptr",
		"TRITONBACKEND_ResponseOutput: output 'OUT' has 4000000000 dimensions, and no more than 1024 are possible, or no shape",
		"TRITONBACKEND_ResponseOutput: name is null",
		"no error",
		"allocated buffer for output 'OUT' already exists",
		"TRITONBACKEND_OutputBuffer" + fmt.Sprintf(dead, "output"),
		"TRITONBACKEND_ResponseSend" + fmt.Sprintf(dead, "response"),
		"[request id: a request] unable to add state 'S'. State configuration is missing for model 'misuse'.",
		"Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.",
		"TRITONBACKEND_ModelSetConfig: the configuration can be set in TRITONBACKEND_ModelInitialize only",
		"out of bounds index 2: instance is configured with 0 profiles",
		"TRITONBACKEND_RequestRelease" + fmt.Sprintf(dead, "request"),
		"TRITONBACKEND_RequestId" + fmt.Sprintf(dead, "request"),
	}, got)
}

func TestWhatABackendLearns(t *testing.T) {
	s := serve(t, map[string]string{"m": echo("describe", "instance_group { count: 1 kind: KIND_CPU host_policy: \"mine\" }")}, func(o *server.Options) {
		o.BackendSettings = map[string]map[string]string{"scripted": {"color": "blue", "plugin": "true"}}
	})
	p := s.infer(t, "m", 1).Parameters
	require.Equal(t, "m_0_0", p["instance"])
	require.Equal(t, "CPU", p["kind"])
	require.Equal(t, `{"mine":{}}`, p["policy"])
	require.JSONEq(t, fmt.Sprintf(`{"cmdline":{"auto-complete-config":"true","backend-directory":%q,"color":"blue","default-max-batch-size":"4","min-compute-capability":"6.000000"}}`,
		filepath.Dir(fmt.Sprint(p["artifacts"]))), fmt.Sprint(p["config"]))
	require.Equal(t, "scripted", filepath.Base(fmt.Sprint(p["artifacts"])))
	require.Equal(t, "m", filepath.Base(fmt.Sprint(p["repository"])))
	require.EqualValues(t, 1, p["version"])
	require.Equal(t, "a request", p["id"])
	require.Equal(t, true, p["parameters"])
	require.InEpsilon(t, 0.5, p["half"], 0)
}

func TestConfigurationByTheBackend(t *testing.T) {
	s := serve(t, map[string]string{"m": `parameters { key: "mode" value { string_value: "complete" } }`})
	require.Equal(t, []int{7}, s.infer(t, "m", 7).out(t))
	model, err := s.Service().Model("m", "")
	require.NoError(t, err)
	defer model.Release()
	c := model.Config()
	require.Equal(t, "m", c.GetName())
	require.Equal(t, "scripted", c.GetBackend())
	require.EqualValues(t, 8, c.GetMaxBatchSize())
	require.NotNil(t, c.GetDynamicBatching())
	require.EqualValues(t, 3, c.GetInstanceGroup()[0].GetCount(), "as the backend prefers")
}

func TestLoadsThatFail(t *testing.T) {
	for mode, want := range map[string]string{"refuse-model": "the model is refused", "refuse-instance": "the instance is refused"} {
		s, err := try(t, map[string]string{"m": echo(mode, ungrouped)})
		require.Error(t, err)
		require.True(t, s.log.has(want))
		require.True(t, s.log.has("end of model m"), "the end is called after a failed start too")
	}
	s, err := try(t, map[string]string{"m": echo("", `backend: "scripted" runtime: "libnothing.so"`)})
	require.Error(t, err)
	require.True(t, s.log.has("unable to find backend library 'libnothing.so' for model 'm', searched: "))
}

func TestLibrariesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ flag, want string }{
		{"-DNO_EXECUTE", "unable to find required entrypoint 'TRITONBACKEND_ModelInstanceExecute' in shared library"},
		{"-DFAIL_INITIALIZE", "this backend never starts"},
	} {
		directory := build(t, "backend.c", "broken", c.flag, "-Wno-unused-function")
		s, err := try(t, map[string]string{"m": echo("", "backend: \"broken\"")}, func(o *server.Options) { o.BackendDirectory = directory })
		require.Error(t, err)
		require.True(t, s.log.has(c.want), c.want)
	}
}

// A library that takes its time to start does not hold up the others.
func TestLibrariesStartTogether(t *testing.T) {
	directory := t.TempDir()
	models := map[string]string{}
	for _, name := range []string{"left", "right"} {
		compile(t, "backend.c", filepath.Join(directory, name, "libtriton_"+name+".so"), "-DMEET")
		models[name] = echo("", ungrouped+fmt.Sprintf(" backend: %q", name))
	}
	s := serve(t, models, func(o *server.Options) { o.BackendDirectory = directory })
	require.Equal(t, []int{1}, s.infer(t, "left", 1).out(t))
	require.Equal(t, []int{2}, s.infer(t, "right", 2).out(t))
}

func TestReadiness(t *testing.T) {
	s := serve(t, map[string]string{"m": echo("unready", ungrouped), "n": echo("", ungrouped)})
	for name, want := range map[string]int{"m": http.StatusBadRequest, "n": http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.HTTP+"/v2/models/"+name+"/ready", nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode, name)
	}
	require.Eventually(t, func() bool { return s.log.has("not today") }, time.Minute, time.Millisecond)
}

// A readiness check that never returns holds up neither its callers nor the end of the model, and
// what the backend still uses stays.
func TestReadinessThatNeverReturns(t *testing.T) {
	plugin.SetReadyLimit(t, 20*time.Millisecond)
	s := serve(t, map[string]string{"m": echo("never-ready", ungrouped)})
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.HTTP+"/v2/models/m/ready", nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	}
	require.Eventually(t, func() bool { return s.log.has("the readiness check of instance 'm_0_0' has not been answered") }, time.Minute, time.Millisecond)
	require.Equal(t, []int{1}, s.infer(t, "m", 1).out(t), "requests do not depend on it")
	s.Stop(t)
	err := s.Wait()
	require.ErrorContains(t, err, "the readiness check of instance 'm_0_0' has not returned within 20ms; the instance is not finalized")
	require.ErrorContains(t, err, "model 'm' is not finalized")
	require.False(t, s.log.has("end of instance m_0_0"))
	require.False(t, s.log.has("end of model m"))
}

func TestOrderOfTheEnd(t *testing.T) {
	s := serve(t, map[string]string{"m": echo("", "instance_group { count: 2 kind: KIND_CPU }")})
	s.infer(t, "m", 1)
	s.Stop(t)
	end := s.log.at("end of model m")
	require.Positive(t, end)
	for _, name := range []string{"m_0_0", "m_0_1"} {
		at := s.log.at("end of instance " + name)
		require.Positive(t, at)
		require.Less(t, at, end)
	}
}

// A library in the folder of a model comes before the backend of the program.
func TestLibraryOfTheModel(t *testing.T) {
	root := t.TempDir()
	compile(t, "backend.c", filepath.Join(root, "m", "libtriton_identity.so"))
	writeModel(t, root, "m", echo("", ungrouped+"\nbackend: \"identity\""))
	s := serve(t, nil, func(o *server.Options) { o.Repositories = []string{root} })
	require.Equal(t, []int{4}, s.infer(t, "m", 4).out(t))
}

// The strategy lets requests 0, 1, 2 share a batch, and no others.
func TestBatchingStrategy(t *testing.T) {
	root := t.TempDir()
	for _, model := range []string{"m", "alone"} {
		compile(t, "strategy.c", filepath.Join(root, model, "batchstrategy.so"))
	}
	compile(t, "strategy.c", filepath.Join(root, "partial", "mine.so"), "-DPARTIAL")
	const batching = ungrouped + ` backend: "scripted" dynamic_batching { max_queue_delay_microseconds: 200000 }`
	writeModel(t, root, "alone", echo("", batching))
	writeModel(t, root, "m", echo("", ungrouped+` backend: "scripted" dynamic_batching { preferred_batch_size: [ 3 ] max_queue_delay_microseconds: 60000000 }`))
	for name, path := range map[string]string{"partial": "mine.so", "absent": "none.so", "outside": "../m/batchstrategy.so"} {
		writeModel(t, root, name, echo("", batching+fmt.Sprintf(` parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: %q } }`, path)))
	}
	s := serve(t, nil, func(o *server.Options) { o.Repositories, o.ExitOnError = []string{root}, false })
	for _, want := range []string{
		"partial/mine.so does not define all required custom batching functions for model partial",
		"Batching library path not found: ", "Batching library path escapes model repository.",
	} {
		require.True(t, s.log.has(want), want)
	}
	var wg sync.WaitGroup
	for n := range 3 {
		wg.Go(func() { s.infer(t, "m", n) })
		if n < 2 { // they arrive in order, and the third one makes the batch due
			require.Eventually(t, func() bool {
				return strings.Contains(s.metrics(t), fmt.Sprintf(`nv_inference_pending_request_count{model="m",version="1"} %d`, n+1))
			}, time.Minute, time.Millisecond)
		}
	}
	for range 3 {
		wg.Go(func() { s.infer(t, "alone", 5) })
	}
	wg.Wait()
	require.Equal(t, map[int]int{3: 1}, batches(t, s, "m"))
	require.Equal(t, map[int]int{1: 3}, batches(t, s, "alone"))
	s.Stop(t)
	require.True(t, s.log.has("a batcher ends"))
}

// batches returns how often batches of each size ran.
func batches(t *testing.T, s served, model string) map[int]int {
	t.Helper()
	all, err := s.Service().Statistics(model, "")
	require.NoError(t, err)
	sizes := map[int]int{}
	for _, b := range all.GetModelStats()[0].GetBatchStats() {
		sizes[int(b.GetBatchSize())] = int(b.GetComputeInfer().GetCount())
	}
	return sizes
}
