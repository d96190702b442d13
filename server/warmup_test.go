package server_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server"
	"triton/server/infer"
	"triton/server/repository"
	"triton/server/servertest"
)

const warm = `model_warmup { name: "zero sample" batch_size: 3 count: 2 inputs { key: "INPUT0" value { data_type: TYPE_INT32 dims: 4 zero_data: true } } }
`

func countersOf(t *testing.T, s *servertest.Server, model string) *inferencepb.ModelStatistics {
	t.Helper()
	all, err := s.Service().Statistics(model, "")
	require.NoError(t, err)
	return all.GetModelStats()[0]
}

// Warm-up counts as NVIDIA's server counts it, on each instance.
func TestWarmUpCounts(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t,
		servertest.Model("one", servertest.Identity("INT32", "4", 8)+warm),
		servertest.Model("two", servertest.Identity("INT32", "4", 8)+warm+`instance_group [ { count: 2 kind: KIND_CPU }, { kind: KIND_CPU passive: true count: 3 } ]`))
	for model, instances := range map[string]uint64{"one": 1, "two": 2} {
		got := countersOf(t, s, model)
		require.Equal(t, 6*instances, got.GetInferenceCount())
		require.Equal(t, 2*instances, got.GetExecutionCount())
		require.Equal(t, 6*instances, got.GetInferenceStats().GetSuccess().GetCount())
		require.Equal(t, 6*instances, got.GetInferenceStats().GetQueue().GetCount())
		require.Len(t, got.GetBatchStats(), 1)
		require.EqualValues(t, 3, got.GetBatchStats()[0].GetBatchSize())
	}
	code, _, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/two/infer", body)
	require.NoError(t, err)
	require.Equal(t, 200, code, "passive instances leave the others alone")
}

// A failed warm-up fails the load with the error text of NVIDIA's server, and the version that
// served before continues to serve.
func TestWarmUpFailsLoads(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.With(func(o *server.Options) { o.Models.Control = repository.ControlExplicit }))
	input := func(text string) string { return strings.Replace(warm, "dims: 4 zero_data: true", text, 1) }
	fault := func(fault, more string) string {
		return strings.Replace(servertest.Identity("INT32", "4", 8), "identity", "fault", 1) + more +
			`parameters { key: "` + fault + `" value { string_value: "1" } }`
	}
	load := func(config string) error { return loadModel(t, s, "m", config) }
	good := servertest.Identity("INT32", "4", 8)
	require.NoError(t, load(good+warm))
	for name, test := range map[string]struct{ config, want string }{
		"the backend":       {fault("fail", warm), "Invalid argument: failed to run warmup sample 'zero sample': fault: a failed batch was requested; fault: a failed batch was requested; fault: a failed batch was requested; "},
		"each answer":       {fault("refuse", warm), "Invalid argument: failed to run warmup sample 'zero sample': fault: a refused request was requested; fault: a refused request was requested; fault: a refused request was requested; "},
		"a panic":           {fault("panic", warm), "Invalid argument: failed to run warmup sample 'zero sample': " + strings.Repeat("instance 'm_0' of model 'm' broke down during execution; ", 3)},
		"the type":          {good + strings.Replace(warm, "INT32", "FP32", 1), "Invalid argument: [request id: <id_unknown>] inference input 'INPUT0' data-type is 'FP32', but model 'm' expects 'INT32'"},
		"no input":          {good + `model_warmup { name: "w" batch_size: 1 }`, "Invalid argument: [request id: <id_unknown>] expected 1 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing required input(s) ['INPUT0']. Please provide all required input(s)."},
		"a short file":      {good + input(`dims: 4 input_data_file: "f"`), "Invalid argument: [request id: <id_unknown>] warmup setting expects 16 bytes, but the data provided from fonly has 15 bytes"},
		"more than a batch": {good + strings.Replace(warm, "batch_size: 3", "batch_size: 9", 1), "Invalid argument: failed to run warmup sample 'zero sample': " + strings.Repeat("batch size 9 for 'm_0', max allowed is 8; ", 9)},
	} {
		err := load(test.config)
		require.Error(t, err, name)
		require.Contains(t, status.From(err).Msg, "version 1 is at UNAVAILABLE state: "+test.want+";", name)
		require.Equal(t, uint64(6), countersOf(t, s, "m").GetInferenceCount(), "the one before serves on")
	}
}

// loadModel loads a model with a version and a warm-up file of 15 bytes.
func loadModel(t *testing.T, s *servertest.Server, name, config string) error {
	t.Helper()
	c, err := modelconfig.Parse("config.pbtxt", []byte(config))
	require.NoError(t, err)
	text, err := protojson.Marshal(c.ModelConfig)
	require.NoError(t, err)
	override := string(text)
	return s.Service().Load(t.Context(), name, infer.LoadOptions{
		Config: &override, Files: map[string][]byte{"file:1/x": nil, "file:warmup/f": make([]byte, 15)},
	})
}

// A load whose warm-up takes long ends when the model is unloaded and when the server stops.
func TestLongWarmUpEnds(t *testing.T) {
	t.Parallel()
	long := servertest.Identity("INT32", "4", 8) + strings.Replace(warm, "count: 2", "count: 2000000000", 1)
	for _, end := range []string{"unload", "drain"} {
		s := servertest.Start(t, servertest.Model("m", long), servertest.With(func(o *server.Options) {
			o.Models.Control = repository.ControlExplicit
			o.Bounds.WarmUpRequests = math.MaxInt64
		}))
		loaded := make(chan error, 1)
		go func() { loaded <- s.Service().Load(t.Context(), "m", infer.LoadOptions{}) }()
		for loading := false; !loading; {
			select {
			case err := <-loaded:
				require.NoError(t, err)
				require.Fail(t, "the warm-up has ended")
			default:
			}
			models := s.Service().Index(false).GetModels()
			loading = len(models) == 1 && models[0].GetState() == "LOADING"
		}
		if end == "unload" {
			require.NoError(t, s.Service().Unload(t.Context(), "m", false))
			require.ErrorContains(t, <-loaded, "the load was cancelled: the model was unloaded meanwhile")
			continue
		}
		s.Stop(t)
		require.ErrorContains(t, <-loaded, "the load was cancelled: the server is exiting")
	}
}
