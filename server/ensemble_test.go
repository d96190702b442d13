package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/servertest"
	"triton/server/trace"
)

const linear = `platform: "ensemble"
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling {
  step { model_name: "a" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "t" } }
  step { model_name: "b" model_version: -1 input_map { key: "INPUT0" value: "t" } output_map { key: "OUTPUT0" value: "OUT" } }
}
`

func TestLinearEnsemble(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t,
		servertest.Model("a", servertest.Identity("INT32", "-1", 0)), servertest.Model("b", servertest.Identity("INT32", "-1", 0)),
		servertest.Model("lin", linear))
	code, body, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/lin/infer", `{"id":"x1","inputs":[{"name":"IN","datatype":"INT32","shape":[2],"data":[1,2]}]}`)
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	require.Equal(t, `{"id":"x1","model_name":"lin","model_version":"1","parameters":{"sequence_id":0,"sequence_start":false,"sequence_end":false},`+
		`"outputs":[{"name":"OUT","datatype":"INT32","shape":[2],"data":[1,2]}]}`, body)
}

// The requests of the steps are traced below the ensemble's, with the numbers
// that NVIDIA's server gives them.
func TestEnsembleTrace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace.json")
	outer := strings.NewReplacer(`model_name: "a"`, `model_name: "lin"`, `key: "INPUT0" value: "IN"`, `key: "IN" value: "IN"`, `key: "OUTPUT0" value: "t"`, `key: "OUT" value: "t"`).Replace(linear)
	s := servertest.Start(t,
		servertest.Model("a", servertest.Identity("INT32", "-1", 0)), servertest.Model("b", servertest.Identity("INT32", "-1", 0)),
		servertest.Model("lin", linear), servertest.Model("nest", outer),
		servertest.With(func(o *server.Options) {
			o.Trace.Config = map[string][]trace.Setting{
				"": {{Name: "level", Value: "TIMESTAMPS"}, {Name: "rate", Value: "1"}}, "triton": {{Name: "file", Value: file}},
			}
		}))
	code, body, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/nest/infer", `{"id":"x","inputs":[{"name":"IN","datatype":"INT32","shape":[2],"data":[1,2]}]}`)
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	s.Stop(t)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var entries []struct {
		ID         int
		Model      string `json:"model_name"`
		Request    string `json:"request_id"`
		Parent     int    `json:"parent_id"`
		Timestamps []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal(text, &entries))
	var heads []string
	moments := map[int][]string{}
	for _, e := range entries {
		if e.Model != "" {
			heads = append(heads, fmt.Sprintf("%d %s %s < %d", e.ID, e.Model, e.Request, e.Parent))
		}
		for _, at := range e.Timestamps {
			if !strings.HasPrefix(at.Name, "HTTP_") {
				moments[e.ID] = append(moments[e.ID], at.Name)
			}
		}
	}
	slices.Sort(heads)
	require.Equal(t, []string{"1 nest x < 0", "2 lin x < 1", "3 a x < 2", "4 b x < 2", "5 b x < 1"}, heads)
	require.Equal(t, []string{"REQUEST_START", "QUEUE_START", "REQUEST_END"}, moments[2])
	require.ElementsMatch(t, []string{
		"REQUEST_START", "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END", "REQUEST_END",
	}, moments[3])
}

const repeated = `platform: "ensemble"
input { name: "VALUES" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }
input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
ensemble_scheduling {
  step {
    model_name: "repeat" model_version: -1
    input_map [ { key: "IN" value: "VALUES" }, { key: "DELAY" value: "DELAY" }, { key: "WAIT" value: "WAIT" } ]
    output_map [ { key: "OUT" value: "each" } ]
  }
  step { model_name: "a" model_version: -1 input_map { key: "INPUT0" value: "each" } output_map { key: "OUTPUT0" value: "OUT" } }
}
`

const repeatModel = `backend: "repeat"
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }
input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }
model_transaction_policy { decoupled: true }
`

// An ensemble with a decoupled step is decoupled: a stream gets one response per
// value, and each has the parameters that those of NVIDIA's server have.
func TestDecoupledEnsemble(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("a", servertest.Identity("INT32", "1", 0)),
		servertest.Model("repeat", repeatModel), servertest.Model("each", repeated))
	stream, err := dial(t, s.GRPC).ModelStreamInfer(t.Context())
	require.NoError(t, err)
	tensor := func(name, kind string, n int64) *inferencepb.ModelInferRequest_InferInputTensor {
		return &inferencepb.ModelInferRequest_InferInputTensor{Name: name, Datatype: kind, Shape: []int64{n}}
	}
	require.NoError(t, stream.Send(&inferencepb.ModelInferRequest{
		ModelName: "each", Id: "7",
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{tensor("VALUES", "INT32", 3), tensor("DELAY", "UINT32", 3), tensor("WAIT", "UINT32", 1)},
		RawInputContents: [][]byte{{5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0}, make([]byte, 12), make([]byte, 4)},
		Parameters: map[string]*inferencepb.InferParameter{
			"triton_enable_empty_final_response": {ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: true}},
		},
	}))
	var got []byte
	for final := false; !final; {
		resp, err := stream.Recv()
		require.NoError(t, err)
		require.Empty(t, resp.ErrorMessage)
		p := resp.InferResponse.Parameters
		final = p["triton_final_response"].GetBoolParam()
		if len(resp.InferResponse.Outputs) == 0 {
			continue
		}
		require.Contains(t, p, "sequence_id")
		require.IsType(t, &inferencepb.InferParameter_Int64Param{}, p["sequence_id"].ParameterChoice)
		require.Equal(t, "7", resp.InferResponse.Id)
		got = append(got, resp.InferResponse.RawOutputContents[0][0])
	}
	require.Equal(t, []byte{5, 6, 7}, got)
	require.NoError(t, stream.CloseSend())

	code, body := get(t, newClient(t), "http://"+s.HTTP+"/v2/models/each/config")
	require.Equal(t, 200, code)
	require.Contains(t, body, `"model_transaction_policy":{"decoupled":true}`)
}

// The time to the first response of a decoupled model and of its ensemble is measured, and the time to
// the last one: not until execute returns.
func TestTimesOfDecoupledModels(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("a", servertest.Identity("INT32", "1", 0)),
		servertest.Model("repeat", repeatModel), servertest.Model("each", repeated),
		servertest.Model("own", repeated+`model_metrics { metric_control {
  metric_identifier { family: "nv_inference_first_response_histogram_ms" } histogram_options { buckets: [ 7, 500 ] } } }`),
		servertest.With(func(o *server.Options) {
			o.Metrics.Settings = map[string]string{"histogram_latencies": "true", "summary_latencies": "true"}
		}))
	c := newClient(t)
	code, body, err := post(c, "http://"+s.HTTP+"/v2/models/each/generate_stream", `{"VALUES":[5,6],"DELAY":[0,600],"WAIT":0}`)
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	_, page := get(t, c, "http://"+s.Metrics+"/metrics")
	require.Contains(t, page, `nv_inference_first_response_histogram_ms_bucket{model="repeat",version="1",le="500"} 1`)
	require.Contains(t, page, `nv_inference_first_response_histogram_ms_bucket{model="each",version="1",le="500"} 1`)
	require.Contains(t, page, `nv_inference_first_response_histogram_ms_count{model="each",version="1"} 1`)
	require.Contains(t, page, `nv_inference_first_response_histogram_ms_bucket{model="own",version="1",le="7"} 0`)
	for _, model := range []string{"repeat", "each"} {
		const total = "nv_inference_request_duration_histogram_us"
		require.Contains(t, page, total+`_bucket{model="`+model+`",version="1",le="100000"} 0`)
		require.Contains(t, page, total+`_count{model="`+model+`",version="1"} 1`)
		require.Regexp(t, `nv_inference_request_summary_us_sum\{model="`+model+`",version="1"\} ([6-9]\d{5}|[1-9]\d{6,})\n`, page)
		require.Contains(t, page, `nv_inference_compute_infer_summary_us_count{model="`+model+`",version="1"} 1`)
	}
}

// An ensemble of ensembles computes the same as its composing models.
func TestNestedEnsembleStatistics(t *testing.T) {
	t.Parallel()
	slow := servertest.Identity("INT32", "-1", 0) + `parameters { key: "execute_delay_ms" value { string_value: "3" } }`
	nest := strings.NewReplacer(`model_name: "a"`, `model_name: "lin"`, `key: "INPUT0" value: "IN"`, `key: "IN" value: "IN"`, `key: "OUTPUT0" value: "t"`, `key: "OUT" value: "t"`).Replace(linear)
	s := servertest.Start(t, servertest.Model("a", slow), servertest.Model("b", slow), servertest.Model("lin", linear), servertest.Model("nest", nest))
	code, body, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/nest/infer", `{"inputs":[{"name":"IN","datatype":"INT32","shape":[2],"data":[1,2]}]}`)
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	g := dial(t, s.GRPC)
	took := map[string]uint64{}
	for name, n := range map[string]uint64{"a": 1, "b": 2, "lin": 1, "nest": 1} {
		all, err := g.ModelStatistics(t.Context(), &inferencepb.ModelStatisticsRequest{Name: name})
		require.NoError(t, err)
		require.Equal(t, n, all.ModelStats[0].ExecutionCount, name)
		took[name] = all.ModelStats[0].InferenceStats.ComputeInfer.Ns
	}
	require.Equal(t, took["a"]+took["b"], took["nest"])
	require.Less(t, took["lin"], took["nest"])
	require.Greater(t, took["nest"], uint64(9e6))
}
