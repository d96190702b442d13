package server_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/trafficrules"
	"triton/server"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/frontend"
	"triton/server/infer"
	"triton/server/repository"
	"triton/server/servertest"
)

// versioned is a backend whose versions answer differently: OUTPUT0 is INPUT0 and a drift for each
// version above 1.
type versioned struct {
	drift   float32
	failing atomic.Int64 // version whose requests fail; 0: none
	ran     [4]atomic.Int64
}

func (v *versioned) load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	m := &backendtest.Model{Spec: spec}
	m.Answer = func(r *infer.Request) *infer.Response {
		v.ran[spec.Version].Add(1)
		resp := infer.NewResponse()
		if v.failing.Load() == spec.Version {
			resp.Err = status.New(status.Internal, "version %d is faulty", spec.Version)
			return resp
		}
		in := r.Input("INPUT0")
		mem := make([]byte, in.Data.Len())
		in.Data.CopyTo(mem)
		for b := mem; len(b) >= 4; b = b[4:] {
			f := math.Float32frombits(binary.LittleEndian.Uint32(b)) + v.drift*float32(spec.Version-1)
			binary.LittleEndian.PutUint32(b, math.Float32bits(f))
		}
		resp.Add("OUTPUT0", tensor.FP32, in.Shape, tensor.NewData(tensor.HeapBuffer(mem)))
		return resp
	}
	return m, nil
}

const versionedConfig = `backend: "versioned"
max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] }
version_policy { all { } }
`

// trafficServer is a server of models with two versions each.
type trafficServer struct {
	*servertest.Server
	t      *testing.T
	client *http.Client
	grpc   inferencepb.GRPCInferenceServiceClient
	dir    string
}

func startTraffic(t *testing.T, v *versioned, models map[string]string) *trafficServer {
	t.Helper()
	dir := t.TempDir()
	for name, config := range models {
		for _, n := range []string{"1", "2"} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, name, n), 0o755))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o644))
	}
	s := servertest.Start(t, servertest.Repository(dir), servertest.With(func(o *server.Options) {
		o.Backends["versioned"] = backendtest.Func(v.load)
		o.Models.Control = repository.ControlExplicit
		o.Models.Startup = []string{"*"}
	}))
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &trafficServer{s, t, newClient(t), inferencepb.NewGRPCInferenceServiceClient(conn), dir}
}

// call makes a request for the control API and returns status, body and ETag.
func (s *trafficServer) call(method, path, body, ifMatch string) (int, string, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.HTTP+"/v2/repository"+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if ifMatch != "" {
		req.Header.Set("If-Match", ifMatch)
	}
	resp, err := s.client.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, string(text), resp.Header.Get("ETag")
}

func (s *trafficServer) set(model, rules string) {
	s.t.Helper()
	code, text, _ := s.call("POST", "/models/"+model+"/traffic", rules, "")
	require.Equal(s.t, 200, code, text)
}

func (s *trafficServer) state(model string) *trafficrules.Status {
	s.t.Helper()
	code, text, _ := s.call("GET", "/models/"+model+"/traffic/diffs", "", "")
	require.Equal(s.t, 200, code, text)
	var st *trafficrules.Status
	require.NoError(s.t, json.Unmarshal([]byte(text), &st))
	return st
}

const versionedBody = `{%s"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,2],"data":[1,2]}]}`

// overHTTP returns the model and version that answer, as "model:version", or the error.
func (s *trafficServer) overHTTP(model, parameters string, header ...string) string {
	s.t.Helper()
	if parameters != "" {
		parameters = `"parameters":{` + parameters + `},`
	}
	req, err := http.NewRequestWithContext(s.t.Context(), "POST", "http://"+s.HTTP+"/v2/models/"+model+"/infer", strings.NewReader(fmt.Sprintf(versionedBody, parameters)))
	require.NoError(s.t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.client.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	var out struct {
		Model   string `json:"model_name"`
		Version string `json:"model_version"`
		Error   string
		Outputs []struct{ Data []float64 }
	}
	require.NoError(s.t, json.NewDecoder(resp.Body).Decode(&out))
	if out.Error != "" {
		return out.Error
	}
	if out.Version == "1" {
		require.Equal(s.t, []float64{1, 2}, out.Outputs[0].Data, "the answer is that of the version that it names")
	}
	return out.Model + ":" + out.Version
}

// overGRPC is overHTTP, over a call or a stream.
func (s *trafficServer) overGRPC(stream bool, model string, parameters map[string]*inferencepb.InferParameter, header ...string) string {
	s.t.Helper()
	ctx := metadata.AppendToOutgoingContext(s.t.Context(), header...)
	req := &inferencepb.ModelInferRequest{
		ModelName: model, Parameters: parameters,
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "FP32", Shape: []int64{1, 2}}},
		RawInputContents: [][]byte{make([]byte, 8)},
	}
	var resp *inferencepb.ModelInferResponse
	var err error
	if stream {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		c, openErr := s.grpc.ModelStreamInfer(ctx)
		require.NoError(s.t, openErr)
		require.NoError(s.t, c.Send(req))
		var got *inferencepb.ModelStreamInferResponse
		got, err = c.Recv()
		if err == nil && got.GetErrorMessage() != "" {
			return got.GetErrorMessage()
		}
		resp = got.GetInferResponse()
	} else {
		resp, err = s.grpc.ModelInfer(ctx, req)
	}
	if err != nil {
		return err.Error()
	}
	return resp.GetModelName() + ":" + resp.GetModelVersion()
}

func textParameter(s string) *inferencepb.InferParameter {
	return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: s}}
}

// TestTrafficMatches: headers, metadata and parameters choose the version over all protocols, a
// version that a request names is kept, and every decision is counted.
func TestTrafficMatches(t *testing.T) {
	t.Parallel()
	s := startTraffic(t, &versioned{drift: 1}, map[string]string{"m": versionedConfig})
	require.Equal(t, "m:2", s.overHTTP("m", ""))
	s.set("m", `{"default":{"version":"1"},"match":[
		{"name":"beta","header":"X-Beta","exact":"yes","to":{"version":"2"}},
		{"name":"region","parameter":"region","prefix":"eu-","to":{"version":"2"}},
		{"name":"shard","parameter":"shard","regex":"^[13]$","to":{"version":"2"}}]}`)
	_, text := get(t, s.client, "http://"+s.HTTP+"/v2/models/m")
	require.Contains(t, text, `"versions":["1","2"]`, "metadata lists all versions")
	for _, c := range []struct {
		header     []string
		parameters string
		grpc       map[string]*inferencepb.InferParameter
		want       string
	}{
		{nil, "", nil, "m:1"},
		{[]string{"x-beta", "yes"}, "", nil, "m:2"},
		{[]string{"x-beta", "no"}, "", nil, "m:1"},
		{nil, `"region":"eu-west"`, map[string]*inferencepb.InferParameter{"region": textParameter("eu-west")}, "m:2"},
		{nil, `"region":"us-west"`, map[string]*inferencepb.InferParameter{"region": textParameter("us-west")}, "m:1"},
		{nil, `"shard":3`, map[string]*inferencepb.InferParameter{"shard": {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: 3}}}, "m:2"},
		{nil, `"shard":13`, map[string]*inferencepb.InferParameter{"shard": {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: 13}}}, "m:1"},
	} {
		require.Equal(t, c.want, s.overHTTP("m", c.parameters, c.header...), "%v", c)
		require.Equal(t, c.want, s.overGRPC(false, "m", c.grpc, c.header...), "%v", c)
		require.Equal(t, c.want, s.overGRPC(true, "m", c.grpc, c.header...), "%v", c)
	}
	require.Equal(t, "m:2", s.overHTTP("m/versions/2", ""))
	require.Equal(t, "m:1", s.overHTTP("m/versions/1", "", "x-beta", "yes"))
	require.ElementsMatch(t, []trafficrules.Decision{
		{Target: "m", Version: "1", Rule: "default", Count: 12},
		{Target: "m", Version: "2", Rule: "match:beta", Count: 3},
		{Target: "m", Version: "2", Rule: "match:region", Count: 3},
		{Target: "m", Version: "2", Rule: "match:shard", Count: 3},
	}, s.state("m").Decisions)
	_, page := get(t, s.client, "http://"+s.Metrics+"/metrics")
	require.Contains(t, page, `triton_traffic_requests_total{model="m",rule="match:beta",target="m",version="2"} 3`)
	code, _, _ := s.call("DELETE", "/models/m/traffic", "", "")
	require.Equal(t, 200, code)
	require.Equal(t, "m:2", s.overHTTP("m", ""))
}

// TestTrafficAlias: a name without a folder, and a model's own name, are answered by other models.
func TestTrafficAlias(t *testing.T) {
	t.Parallel()
	s := startTraffic(t, &versioned{}, map[string]string{"chat-v1": versionedConfig, "chat-v2": versionedConfig})
	s.set("chat", `{"weights":[{"model":"chat-v1","weight":90},{"model":"chat-v2","version":"1","weight":10}],"sticky":{"header":"x-user"}}`)
	got := map[string]int{}
	for i := range 200 {
		user := fmt.Sprintf("user-%d", i)
		first := s.overHTTP("chat", "", "X-User", user)
		require.Equal(t, first, s.overGRPC(false, "chat", nil, "x-user", user))
		got[first]++
	}
	require.Len(t, got, 2)
	require.InDelta(t, 20, got["chat-v2:1"], 15)
	code, text := get(t, s.client, "http://"+s.HTTP+"/v2/models/chat")
	require.Equal(t, 200, code)
	require.Contains(t, text, `"name":"chat-v1"`, "metadata of an alias is that of its default")
	code, _ = get(t, s.client, "http://"+s.HTTP+"/v2/models/chat/ready")
	require.Equal(t, 200, code)
	_, index, _ := s.call("POST", "/index", "", "")
	require.NotContains(t, index, `"name":"chat"`)

	// The rules of chat-v1 apply to what chat sends there.
	s.set("chat-v1", `{"default":{"version":"1"}}`)
	s.set("chat", `{"default":{"model":"chat-v1"}}`)
	require.Equal(t, "chat-v1:1", s.overHTTP("chat", ""))
	code, text, _ = s.call("POST", "/models/chat-v1/traffic", `{"default":{"model":"chat"}}`, "")
	require.Equal(t, 400, code)
	require.Contains(t, text, "chat-v1 -> chat -> chat-v1")

	// The target is unloaded: the fallback is the name's own model, or an error.
	require.Equal(t, 200, first(s.call("POST", "/models/chat-v1/unload", "", "")))
	require.Contains(t, s.overHTTP("chat", ""), "chat-v1")
	s.set("chat-v1", `{"default":{"model":"chat-v2"}}`)
	require.Equal(t, "chat-v2:2", s.overHTTP("chat", ""))
	require.Equal(t, "chat-v2:2", s.overHTTP("chat-v1", ""), "a model's own name is an alias too")
}

func first(code int, _, _ string) int { return code }

// TestTrafficAPI: mistakes are answered with the field, and two writers do not overwrite each
// other.
func TestTrafficAPI(t *testing.T) {
	t.Parallel()
	file := versionedConfig + `parameters { key: "traffic_rules" value { string_value: "{\"default\":{\"version\":\"1\"}}" } }`
	s := startTraffic(t, &versioned{}, map[string]string{"m": file})
	require.Equal(t, "m:1", s.overHTTP("m", ""), "the rules of the file")
	code, text, tag := s.call("GET", "/models/m/traffic", "", "")
	require.Equal(t, 200, code)
	require.Contains(t, text, `"source":"file"`)
	code, _, next := s.call("POST", "/models/m/traffic", `{"default":{"version":"2"}}`, tag)
	require.Equal(t, 200, code)
	require.NotEqual(t, tag, next)
	require.Equal(t, "m:2", s.overHTTP("m", ""), "live rules replace those of the file")
	code, text, _ = s.call("POST", "/models/m/traffic", `{}`, tag)
	require.Equal(t, 412, code)
	require.Contains(t, text, "read them again")
	require.Equal(t, 412, first(s.call("DELETE", "/models/m/traffic", "", tag)))

	// A reload with other rules in the file keeps the live ones, until they are deleted.
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "m", "config.pbtxt"), []byte(versionedConfig), 0o644))
	require.Equal(t, 200, first(s.call("POST", "/models/m/load", "", "")))
	require.Contains(t, second(s.call("GET", "/models/m/traffic", "", "")), `"source":"live"`)
	require.Equal(t, 200, first(s.call("DELETE", "/models/m/traffic", "", next)))
	require.Equal(t, 404, first(s.call("GET", "/models/m/traffic", "", "")))

	for rules, want := range map[string]string{
		`{"weights":[{"version":"1","weight":-1}]}`: `weights[0].weight: -1 is not from 0 to 1e+09`,
		`{"weight":[]}`:                `weight: there is no such field`,
		`{"weights":[{"weight":"1"}]}`: `weights.weight: expected a number, got a JSON string`,
		`{"default":{"version":"x"}}`:  `default.version: 'x' is not the number of a version`,
		`[]`:                           `expected an object, got a JSON array`,
		`{`:                            `the text ends too early`,
		`{"match":[{"to":{}}]}`:        `match[0]: set either header or parameter`,
		strings.Repeat(" ", 300<<10):   `more than 262144 bytes`,
		`{"canary":{"version":"2","stable":{"version":"2"}}}`: `canary.stable: it is the same as the canary`,
	} {
		code, text, _ := s.call("POST", "/models/m/traffic", rules, "")
		require.Equal(t, 400, code, rules)
		require.Contains(t, text, want)
	}
	require.Equal(t, 404, first(s.call("POST", "/models/nothere/traffic", `{"default":{"version":"1"}}`, "")))
	require.Equal(t, 405, first(s.call("PUT", "/models/m/traffic", `{}`, "")))
	require.Equal(t, 404, first(s.call("POST", "/models/m/traffic/promote", "", "")))
	require.Equal(t, 400, first(s.call("POST", "/models/m/traffic", `{}`, "seven")))
}

func second(_ int, text, _ string) string { return text }

// TestTrafficRestricted: the calls for rules need the header of the model repository.
func TestTrafficRestricted(t *testing.T) {
	t.Parallel()
	rules, err := frontend.ParseRestrictions(frontend.RestrictedAPI, []string{"model-repository:admin=secret"})
	require.NoError(t, err)
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("FP32", "2", 8)), servertest.With(func(o *server.Options) {
		o.HTTP.Restricted = rules
	}))
	client := newClient(t)
	for _, path := range []string{"traffic", "models/m/traffic", "models/m/traffic/diffs"} {
		code, text := get(t, client, "http://"+s.HTTP+"/v2/repository/"+path)
		require.Equal(t, 403, code)
		require.Contains(t, text, "expecting header 'admin'")
	}
	for _, path := range []string{"", "/promote", "/rollback"} {
		code, _, err := post(client, "http://"+s.HTTP+"/v2/repository/models/m/traffic"+path, `{}`)
		require.NoError(t, err)
		require.Equal(t, 403, code)
	}
}

// TestTrafficCanary: a canary advances while it is as good as the stable version, and is rolled back
// when it fails. No request is lost.
func TestTrafficCanary(t *testing.T) {
	t.Parallel()
	v := &versioned{}
	s := startTraffic(t, v, map[string]string{"m": versionedConfig})
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.overHTTP("m", "")
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	defer load.Wait()
	defer close(stop)
	rules := `{"canary":{"version":"2","stable":{"version":"1"},"steps":[10,50,100],"step_seconds":0.01,"min_samples":50,"max_p99_ratio":1000000}}`
	s.set("m", rules)
	state := func(want trafficrules.CanaryState) func() bool {
		return func() bool { return s.state("m").Canary.State == want }
	}
	require.Eventually(t, state(trafficrules.CanaryPromoted), time.Minute, 20*time.Millisecond)
	require.Equal(t, 200, first(s.call("DELETE", "/models/m/traffic", "", "")))
	v.failing.Store(2)
	s.set("m", strings.Replace(rules, "0.01", "3600", 1))
	require.Eventually(t, state(trafficrules.CanaryRolledBack), time.Minute, 20*time.Millisecond)
	require.Contains(t, s.state("m").Canary.Reason, "requests failed, of the stable target 0 of")
	require.Equal(t, "m:1", s.overHTTP("m", ""))
	_, page := get(t, s.client, "http://"+s.Metrics+"/metrics")
	require.Contains(t, page, `triton_traffic_rollbacks_total{model="m"} 1`)
	require.Contains(t, page, `triton_traffic_canary_weight_percent{model="m",target="m",version="2"} 0`)
	require.Equal(t, 200, first(s.call("POST", "/models/m/traffic/promote", "", "")))
	require.Contains(t, s.overHTTP("m", ""), "version 2 is faulty")
}

// TestTrafficShadow: a shadow that drifts is measured, and does not touch the answers, nor the
// counters of the version that answers.
func TestTrafficShadow(t *testing.T) {
	t.Parallel()
	v := &versioned{drift: 0.5}
	s := startTraffic(t, v, map[string]string{"m": versionedConfig})
	s.set("m", `{"default":{"version":"1"},"shadow":{"version":"2","percent":100,"diffs":3}}`)
	for range 5 {
		require.Equal(t, "m:1", s.overHTTP("m", ""))
		require.Equal(t, "m:1", s.overGRPC(false, "m", nil))
		require.Equal(t, "m:1", s.overGRPC(true, "m", nil))
	}
	require.Eventually(t, func() bool { return s.state("m").Shadow.Compared == 15 }, time.Minute, 10*time.Millisecond)
	st := s.state("m").Shadow
	require.Equal(t, uint64(15), st.Mismatched)
	require.Equal(t, uint64(30), st.Elements)
	require.Equal(t, uint64(30), st.MismatchedElements)
	require.InDelta(t, 0.5, st.MaxAbsError, 1e-6)
	require.Len(t, st.Diffs, 3)
	require.Equal(t, "values", st.Diffs[0].Reason)
	require.Equal(t, "m:1", st.Diffs[0].Primary)
	require.Equal(t, "m:2", st.Diffs[0].Shadow)
	require.NotEmpty(t, st.Diffs[0].ShadowValue)
	_, page := get(t, s.client, "http://"+s.Metrics+"/metrics")
	require.Contains(t, page, `nv_inference_request_success{model="m",version="1"} 15`)
	require.Contains(t, page, `triton_shadow_requests_total{model="m",result="mismatched",target="m",version="2"} 15`)
	require.Contains(t, page, `triton_shadow_max_abs_error{model="m",target="m",version="2"} 0.5`)

	v.failing.Store(2)
	s.set("m", `{"default":{"version":"1"},"shadow":{"version":"2","percent":100,"hide_contents":true}}`)
	require.Equal(t, "m:1", s.overHTTP("m", ""))
	require.Eventually(t, func() bool { return s.state("m").Shadow.Failed == 1 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "error", s.state("m").Shadow.Diffs[0].Reason)
	require.Empty(t, s.state("m").Shadow.Diffs[0].Detail)
}
