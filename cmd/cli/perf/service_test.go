package perf_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"triton/perf/load/loadtest"
)

// write writes a file into a new folder and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// chatServer answers chat completions with three chunks, or with the number of messages.
func chatServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Stream   bool
			Messages []any
		}
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path != "/v1/chat/completions":
			http.Error(w, "no such path", http.StatusNotFound)
		case json.Unmarshal(body, &q) != nil:
			http.Error(w, "no JSON", http.StatusBadRequest)
		case !q.Stream:
			fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":"%d messages"}}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`, len(q.Messages))
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"t%d\"}}]}\n\n", i)
				_ = http.NewResponseController(w).Flush()
			}
			fmt.Fprint(w, "data: [DONE]\n\n")
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func openAI(address, input string, more ...string) []string {
	return append([]string{"-m", "gpt", "--service-kind", "openai", "--endpoint", "v1/chat/completions", "--async", "-u", address, "--input-data", input}, more...)
}

// export is a profile export file.
type export struct {
	Experiments []struct {
		Experiment struct {
			Mode  string
			Value float64
		}
		Requests []struct {
			Inputs  map[string]any   `json:"request_inputs"`
			Times   []int64          `json:"response_timestamps"`
			Outputs []map[string]any `json:"response_outputs"`
		}
		Windows []json.Number `json:"window_boundaries"`
	}
	Kind     string `json:"service_kind"`
	Endpoint string
}

func readExport(t *testing.T, file string) export {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var e export
	require.NoError(t, json.Unmarshal(b, &e))
	return e
}

func TestOpenAIStream(t *testing.T) {
	t.Parallel()
	input := write(t, "in.json", `{"data":[{"payload":[{"messages":[{"role":"user","content":"12345678"}],"stream":true}]}]}`)
	file := filepath.Join(t.TempDir(), "profile_export.json")
	code, out, errs := run(t, nil, openAI(chatServer(t), input, "--concurrency-range", "2", "--request-count", "20", "--profile-export-file", file,
		"--goodput", "time_to_first_token:60000", "--goodput", "output_token_throughput_per_user:0.001")...)
	require.Zero(t, code, errs)
	require.Contains(t, out, "*** Measurement Settings ***\n  Service Kind: OPENAI\n  Sending 20 benchmark requests\n  Using asynchronous calls for inference\n")
	require.Contains(t, out, "    Request count: 20\n")
	require.Contains(t, out, "    Avg HTTP time: ")
	require.NotContains(t, out, "Server:")
	require.Contains(t, out, "\nLLM metrics, concurrency 2\n")
	require.Contains(t, out, "Tokens are counted by: chunks (output), characters (input).\n")

	e := readExport(t, file)
	require.Equal(t, "openai", e.Kind)
	require.Equal(t, "v1/chat/completions", e.Endpoint)
	require.Len(t, e.Experiments[0].Requests, 20)
	r := e.Experiments[0].Requests[0]
	require.Equal(t, map[string]any{"payload": `{"messages":[{"role":"user","content":"12345678"}],"stream":true}`}, r.Inputs)
	require.Len(t, r.Times, 4)
	require.Equal(t, []map[string]any{
		{"response": "data: {\"choices\":[{\"delta\":{\"content\":\"t0\"}}]}\n\n"},
		{"response": "data: {\"choices\":[{\"delta\":{\"content\":\"t1\"}}]}\n\n"},
		{"response": "data: {\"choices\":[{\"delta\":{\"content\":\"t2\"}}]}\n\n"},
		{"response": "data: [DONE]\n\n"},
	}, r.Outputs)

	csv, err := os.ReadFile(strings.TrimSuffix(file, ".json") + "_genai_perf.csv")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(csv), "Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1\r\nTime To First Token (ms),"), string(csv))
	require.Contains(t, string(csv), "\r\nOutput Sequence Length (tokens),3.00,")
	require.Contains(t, string(csv), "\r\nRequest Count (count),20.00\r\n")
	b, err := os.ReadFile(strings.TrimSuffix(file, ".json") + "_genai_perf.json")
	require.NoError(t, err)
	var m map[string]struct{ Avg float64 }
	require.NoError(t, json.Unmarshal(b, &m))
	require.InDelta(t, m["request_throughput"].Avg, m["request_goodput"].Avg, 1e-9, "every request is good")
	require.InDelta(t, 2, m["input_sequence_length"].Avg, 0)
}

func TestOpenAIFailures(t *testing.T) {
	t.Parallel()
	input := write(t, "in.json", `{"data":[{"payload":[{}]}]}`)
	address := chatServer(t)
	code, _, errs := run(t, nil, openAI(address, input, "--endpoint", "v2")...)
	require.Equal(t, 99, code)
	require.Contains(t, errs, "Thread [0] had error: OpenAI response returns HTTP code 404: no such path\n")

	code, _, errs = run(t, nil, openAI("127.0.0.1:1", input)...)
	require.Equal(t, 99, code)
	require.Contains(t, errs, "HTTP client failed: Couldn't connect to server")

	code, _, errs = run(t, nil, openAI(address, input, "-i", "grpc")...)
	require.Equal(t, 99, code)
	require.Equal(t, "error: failed to create triton client backend: perf_analyzer does not support gRPC protocol with OpenAI endpoints\n\n", errs)

	code, _, errs = run(t, nil, openAI(address, write(t, "in.json", `{"data":[{"payload":[{},{}]}]}`))...)
	require.Equal(t, 99, code)
	require.Contains(t, errs, "JSON format does not yet support multiple json objects in the input")
}

func TestSessionConcurrency(t *testing.T) {
	t.Parallel()
	input := write(t, "in.json", `{"data":[
		{"payload":[{"model":"m","messages":[{"role":"user","content":"1"}]}],"session_id":["a"],"delay":[1]},
		{"payload":[{"messages":[{"role":"user","content":"x"}]}],"session_id":["b"]},
		{"payload":[{"messages":[{"role":"user","content":"2"}]}],"session_id":["a"]}]}`)
	file := filepath.Join(t.TempDir(), "p.json")
	code, out, errs := run(t, nil, openAI(chatServer(t), input, "--session-concurrency", "2", "--profile-export-file", file, "--llm", "--warmup-request-count", "3", "--request-count", "2")...)
	require.Zero(t, code, errs)
	require.Equal(t, "WARNING: --warmup-request-count has no effect with --periodic-concurrency-range\n  and --session-concurrency.\n"+
		"WARNING: --request-count has no effect with --periodic-concurrency-range and\n  --session-concurrency.\n", errs)
	require.Contains(t, out, "    Request count: 3\n")
	require.Contains(t, out, "\nLLM metrics, session concurrency 2\n")
	require.Contains(t, out, "Tokens are counted by: usage (output), usage (input).\n")
	x := readExport(t, file).Experiments[0]
	require.Equal(t, "request_rate", x.Experiment.Mode)
	require.Zero(t, x.Experiment.Value)
	require.Equal(t, []json.Number{"0", "18446744073709551615"}, x.Windows)
	payloads := map[string]any{}
	for _, r := range x.Requests {
		payloads[fmt.Sprint(r.Inputs["payload"])] = r.Inputs["session_id"]
	}
	require.Equal(t, map[string]any{
		`{"model":"m","messages":[{"role":"user","content":"1"}]}`:                                                               "a",
		`{"messages":[{"role":"user","content":"x"}]}`:                                                                           "b",
		`{"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"1 messages"},{"role":"user","content":"2"}]}`: "a",
	}, payloads)

	for args, want := range map[string]string{
		"--session-concurrency 3": "The input data file contains 2 unique session IDs, which is fewer than the required session concurrency level of 3.",
		"--session-concurrency 1 --input-data " + write(t, "d.json", `{"data":[{"payload":[{}],"session_id":["a"]}]}`): "Missing 'delay' input for payload with index 2",
	} {
		code, _, errs := run(t, nil, openAI("127.0.0.1:1", input, strings.Fields(args)...)...)
		require.Equal(t, 99, code)
		require.Contains(t, errs, want)
	}
}

func TestPeriodicConcurrency(t *testing.T) {
	t.Parallel()
	s, err := loadtest.StartGRPC("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.Decoupled = func(uint64) int { return 12 }
	file := filepath.Join(t.TempDir(), "p.json")
	code, out, errs := run(t, nil, "-m", "null", "-i", "grpc", "--streaming", "-u", s.Address, "--periodic-concurrency-range", "2:8:3", "--request-period", "12", "--profile-export-file", file)
	require.Zero(t, code, errs)
	require.Contains(t, out, "    Request count: 8\n")
	require.EqualValues(t, 8, s.Requests())
	x := readExport(t, file).Experiments[0]
	require.Equal(t, "concurrency", x.Experiment.Mode)
	require.InDelta(t, 1, x.Experiment.Value, 0)
	require.Equal(t, []json.Number{"0", "18446744073709551615"}, x.Windows)
	require.Len(t, x.Requests, 8)
	require.Len(t, x.Requests[0].Times, 13)
	final := x.Requests[0].Outputs[12]
	require.Len(t, final, len(x.Requests[0].Outputs[0]))
	for _, text := range final {
		require.Empty(t, text, "the final response has all outputs without data")
	}

	code, _, errs = run(t, nil, "-m", "null", "-i", "grpc", "--streaming", "-u", s.Address, "--periodic-concurrency-range", "1:2", "--request-period", "14", "--profile-export-file", filepath.Join(t.TempDir(), "p.json"))
	require.Equal(t, 99, code)
	require.Contains(t, errs, "Request received final response before request period was reached.")
}

func TestTorchServe(t *testing.T) {
	t.Parallel()
	var wrong atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/predictions/cats/1" || r.FormValue("data") != "a picture" {
			wrong.Store(true)
		}
		fmt.Fprint(w, `{"cat":1}`)
	}))
	t.Cleanup(s.Close)
	input := write(t, "in.json", fmt.Sprintf(`{"data":[{"TORCHSERVE_INPUT":[%q]}]}`, write(t, "cat.jpg", "a picture")))
	file := filepath.Join(t.TempDir(), "p.json")
	code, out, errs := run(t, nil, "-m", "cats", "-x", "1", "--service-kind", "torchserve", "-u", s.Listener.Addr().String(), "--input-data", input, "--request-count", "5", "--profile-export-file", file)
	require.Zero(t, code, errs)
	require.False(t, wrong.Load())
	require.Contains(t, out, "  Service Kind: TORCHSERVE\n")
	require.Contains(t, out, "    Request count: 5\n")
	e := readExport(t, file)
	require.Equal(t, "torchserve", e.Kind)
	require.Equal(t, []map[string]any{{}}, e.Experiments[0].Requests[0].Outputs)
}

func TestDynamicGRPC(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer()
	var messages atomic.Int64
	g.RegisterService(&grpc.ServiceDesc{ServiceName: "speech.Service", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{{
		StreamName: "Recognize", ServerStreams: true, ClientStreams: true,
		Handler: func(_ any, s grpc.ServerStream) error {
			for {
				var m emptypb.Empty
				if err := s.RecvMsg(&m); errors.Is(err, io.EOF) {
					return s.SendMsg(&m)
				} else if err != nil {
					return err
				}
				messages.Add(1)
			}
		},
	}}}, nil)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-done })
	input := write(t, "in.json", `{"data":[{"message_generator":"printf '\\002\\000\\000\\000\\012\\000\\002\\000\\000\\000\\012\\000'"}]}`)
	code, out, errs := run(t, nil, "--service-kind", "dynamic_grpc", "--grpc-method", "speech.Service/Recognize", "-u", l.Addr().String(), "--input-data", input, "--request-count", "6")
	require.Zero(t, code, errs)
	require.EqualValues(t, 12, messages.Load(), "two messages in each of six requests")
	require.Contains(t, out, "  Service Kind: DYNAMIC_GRPC\n")
	require.Contains(t, out, "    Avg gRPC time: ")

	code, _, errs = run(t, nil, "--service-kind", "dynamic_grpc", "--grpc-method", "speech.Service/Other", "-u", l.Addr().String(), "--input-data", input)
	require.Equal(t, 99, code)
	require.Contains(t, errs, "Thread [0] had error: unknown method Other for service speech.Service\n")
}

func TestServiceUsage(t *testing.T) {
	t.Parallel()
	input := write(t, "in.json", `{"data":[{"payload":[{}]}]}`)
	for args, want := range map[string]string{
		"-m x --service-kind mlflow":                                           "Failed to parse --service-kind. Unsupported type provided: 'mlflow'. The available options are 'triton', 'tfserving', 'torchserve', or 'triton_c_api'.",
		"-m x --service-kind openai":                                           "Must supply --input-data for OpenAI service kind.",
		"-m x --service-kind openai --input-data IN":                           `Must supply --endpoint for OpenAI service kind. For example, "v1/chat/completions".`,
		"-m x --service-kind openai --input-data IN --endpoint e":              "Only async mode is currently supported for OpenAI service-kind",
		"-m x --service-kind openai --input-data IN --endpoint e --async -b 2": "Batching is not currently supported with OpenAI service-kind",
		"-m x --service-kind openai --streaming":                               "Streaming is only allowed with gRPC protocol and Triton C API.",
		"-m x --service-kind tfserving":                                        "perf_analyzer supports only grpc protocol for TensorFlow Serving.",
		"-m x --service-kind tfserving -i grpc --streaming":                    "perf_analyzer does not support streaming for TensorFlow Serving.",
		"-m x --service-kind tfserving -i grpc --async":                        "perf_analyzer does not support async API for TensorFlow Serving.",
		"-m x --service-kind torchserve":                                       "--input-data should be provided with a json file with input data for torchserve.",
		"-m x --service-kind torchserve --input-data IN --async":               "client backend of kind TORCHSERVE does not support AsyncInfer API",
		"--service-kind dynamic_grpc":                                          "Must supply --grpc-method for Dynamic gRPC service kind",
		"--service-kind dynamic_grpc --grpc-method p.S/M":                      "Must supply --input-data to provide input data stream for streaming Dynamic gRPC service.",
		"--service-kind dynamic_grpc --grpc-method p.S/M --async":              "Dynamic gRPC client only supports synchronous RPCs at the moment.",
		"--grpc-method /p.S/M":                                                 "Received gRPC method name '/p.S/M' that does not match the format: <package>.<service>/<method>.",
		"-m x --service-kind torchserve --input-data IN --collect-metrics":     "Server-side metric collection is only supported with Triton client backend.",
		"-m x --service-kind torchserve --input-data IN --trace-level OFF":     "The trace options are only supported with --service-kind triton.",
		"-m x --session-concurrency 2":                                         "Session concurrency mode is only supported with OpenAI service kind.",
		"-m x --session-concurrency 0":                                         "Failed to parse --session-concurrency. Session concurrency must be > 0.",
		"-m x --session-concurrency 1 --concurrency-range 2":                   "Cannot use both SessionConcurrency and Concurrency inference load modes.",
		"-m x --periodic-concurrency-range 2":                                  "Failed to parse --periodic-concurrency-range. Both <start> and <end> values must be provided.",
		"-m x --periodic-concurrency-range 1:2:3:4":                            "Failed to parse --periodic-concurrency-range. The value does not match <start:end:step>.",
		"-m x --periodic-concurrency-range 1:2:0":                              "Failed to parse --periodic-concurrency-range. The <step> value must be > 0.",
		"-m x --periodic-concurrency-range 3:2":                                "Failed to parse --periodic-concurrency-range. The <start> must be <= <end>.",
		"-m x --periodic-concurrency-range 1:4:2":                              "Failed to parse --periodic-concurrency-range. The <step> value must be a factor of the range size (<end> - <start>).",
		"-m x --periodic-concurrency-range 0:4":                                "Failed to parse --periodic-concurrency-range. The <start> value must be > 0.",
		"-m x --periodic-concurrency-range 1:a":                                "Failed to parse --periodic-concurrency-range. Invalid value provided: 1:a",
		"-m x --periodic-concurrency-range 1:4":                                "The --periodic-concurrency-range option requires bi-directional gRPC streaming.",
		"-m x -i grpc --streaming --periodic-concurrency-range 1:4":            "Must provide --profile-export-file when using the --periodic-concurrency-range option.",
		"-m x --request-period 0":                                              "Failed to parse --request-period. The value must be > 0",
		"-m x --goodput request_latency":                                       `Failed to parse --goodput. "request_latency" is not <metric>:<value>`,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			code, out, errs := run(t, nil, strings.Fields(strings.ReplaceAll(args, "IN", input))...)
			require.Equal(t, 99, code)
			require.Empty(t, out)
			require.Contains(t, errs, "Error: "+want)
		})
	}
}

// TestLLMBesideOtherResults: the metrics leave a result on standard output alone, and each batch
// size has files of its own.
func TestLLMBesideOtherResults(t *testing.T) {
	t.Parallel()
	s := nullServer(t)
	stem := filepath.Join(t.TempDir(), "profile")
	code, out, errs := run(t, nil, "-m", "null", "-u", s.Address, "-b", "1,4", "--request-count", "10",
		"--llm", "--profile-export-file", stem+".json", "--output", "json")
	require.Zero(t, code, errs)
	require.True(t, json.Valid([]byte(out)), out)
	for _, batch := range []string{"1", "4"} {
		require.Contains(t, errs, "\nLLM metrics, concurrency 1, batch size "+batch+"\n")
		require.FileExists(t, stem+"_concurrency1_batch"+batch+"_genai_perf.csv")
		require.FileExists(t, stem+"_concurrency1_batch"+batch+"_genai_perf.json")
	}
}

func TestLLMFromAnExport(t *testing.T) {
	t.Parallel()
	file := write(t, "p.json", `{"experiments":[
		{"experiment":{"mode":"concurrency","value":2},"requests":[{"timestamp":0,"request_inputs":{"payload":"{\"prompt\":\"12345678\"}"},"response_timestamps":[1000000,3000000],"response_outputs":[{"response":"data: {\"choices\":[{\"text\":\"a\"}]}\n\n"},{"response":"data: {\"choices\":[{\"text\":\"b\"}]}\n\n"}]}],"window_boundaries":[0]},
		{"experiment":{"mode":"request_rate","value":0.0},"requests":[],"window_boundaries":[0]}],
		"version":"","service_kind":"openai","endpoint":"v1/completions"}`)
	code, out, errs := run(t, nil, "llm", file, "--files", "--goodput", "inter_token_latency:2,request_latency:3")
	require.Zero(t, code, errs)
	require.Contains(t, out, "\nLLM metrics, concurrency 2\n")
	require.Contains(t, out, " Time To First Token (ms) │   1.00 │")
	require.Contains(t, out, " Request Goodput (per sec) │ 333.33 │")
	require.Contains(t, out, "\nLLM metrics, fixed schedule\n")
	stem := strings.TrimSuffix(file, ".json")
	for _, name := range []string{"_concurrency2_genai_perf.csv", "_concurrency2_genai_perf.json", "_fixed_schedule_genai_perf.json"} {
		require.FileExists(t, stem+name)
	}

	code, _, errs = run(t, nil, "llm")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "perf llm takes the names of profile export files")
	code, _, errs = run(t, nil, "llm", write(t, "x", "{}"))
	require.Equal(t, 2, code)
	require.Contains(t, errs, "x: not a profile export file: it has no experiments or no service_kind")
	code, _, errs = run(t, nil, "llm", file, "--goodput", "latency:2")
	require.Equal(t, 2, code)
	require.Contains(t, errs, `"latency" is no metric of a request`)
	code, out, errs = run(t, nil, "llm", "--help")
	require.Zero(t, code, errs)
	require.Contains(t, out, "triton perf llm FILE...")

	code, _, errs = run(t, nil, "-m", "llm", "-u", "127.0.0.1:1")
	require.Equal(t, 99, code)
	require.Contains(t, errs, "failed to get model metadata", "llm is the name of a model here")
}
