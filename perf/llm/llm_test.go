package llm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/perf/llm"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// figures returns the means and the totals of metrics by their names.
func figures(m *llm.Metrics) map[string]float64 {
	all := map[string]float64{}
	for _, d := range m.PerRequest {
		all[d.Name] = d.Values.Mean
	}
	for _, t := range m.Totals {
		all[t.Name] = t.Value
	}
	return all
}

// read returns the metrics of the requests of an export file, each a JSON object.
func read(t *testing.T, kind string, goals []llm.Objective, requests ...string) *llm.Metrics {
	t.Helper()
	e, err := llm.ReadExport(strings.NewReader(fmt.Sprintf(`{"experiments":[{"experiment":{"mode":"concurrency","value":2},"requests":[%s]}],"service_kind":%q,"endpoint":"x"}`,
		strings.Join(requests, ","), kind)))
	require.NoError(t, err)
	require.Equal(t, "x", e.Endpoint)
	require.Len(t, e.Experiments, 1)
	require.Equal(t, "concurrency", e.Experiments[0].Mode)
	return llm.Compute(e.Experiments[0].Requests, goals)
}

// chat is a request of the kind openai whose responses come at multiples of 1 ms.
func chat(start int, responses ...string) string {
	var times, outputs []string
	for i, r := range responses {
		times = append(times, fmt.Sprint((start+i+1)*1e6))
		outputs = append(outputs, fmt.Sprintf(`{"response":%q}`, r))
	}
	return fmt.Sprintf(`{"timestamp":%d,"request_inputs":{"payload":"{\"messages\":[{\"content\":\"12345678\"}]}"},"response_timestamps":[%s],"response_outputs":[%s]}`,
		start*1000000, strings.Join(times, ","), strings.Join(outputs, ","))
}

func chunk(text string) string {
	return fmt.Sprintf("data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", text)
}

const (
	empty = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
	done  = "data: [DONE]\n\n"
)

func TestStream(t *testing.T) {
	t.Parallel()
	m := read(t, "openai", nil, chat(0, empty, chunk("a"), chunk("b"), chunk("c"), done), chat(4, chunk("d"), chunk("e"), done))
	require.Equal(t, []llm.Source{llm.Chunks}, m.OutputFrom)
	require.Equal(t, []llm.Source{llm.Characters}, m.InputFrom)
	require.Equal(t, map[string]float64{
		"request_latency": 3, "time_to_first_token": 1.5, "time_to_second_token": 1, "inter_token_latency": 1,
		"output_token_throughput_per_user": 1000, "output_sequence_length": 2.5, "input_sequence_length": 2,
		// from 0 to 6 ms
		"output_token_throughput": 5 / 0.006, "request_throughput": 2 / 0.006, "request_count": 2,
	}, figures(m))
}

// TestFormsOfResponses puts the same answer into the forms that servers and recorders write.
func TestFormsOfResponses(t *testing.T) {
	t.Parallel()
	ab := chunk("a") + chunk("b")
	for name, c := range map[string]struct {
		responses []string
		want      map[string]float64 // of the metrics that matter
	}{
		"a chunk in each response":      {[]string{chunk("a"), chunk("b")}, map[string]float64{"output_sequence_length": 2, "time_to_first_token": 1, "time_to_second_token": 1, "request_latency": 2}},
		"two chunks in one response":    {[]string{ab, done}, map[string]float64{"output_sequence_length": 2, "time_to_first_token": 1, "request_latency": 1}},
		"a chunk cut in two":            {[]string{ab[:20], ab[20:]}, map[string]float64{"output_sequence_length": 2, "time_to_first_token": 2, "request_latency": 2}},
		"no blank lines":                {[]string{strings.TrimSpace(chunk("a")), strings.TrimSpace(chunk("b"))}, map[string]float64{"output_sequence_length": 2, "time_to_first_token": 1, "time_to_second_token": 1}},
		"comments":                      {[]string{": ping\n\n", chunk("a"), "event: x\n\n"}, map[string]float64{"output_sequence_length": 1, "time_to_first_token": 2}},
		"CRLF":                          {[]string{"data: {\"choices\":[{\"text\":\"a\"}]}\r\n\r\n"}, map[string]float64{"output_sequence_length": 1, "time_to_first_token": 1}},
		"reasoning before the answer":   {[]string{"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n", chunk("a")}, map[string]float64{"output_sequence_length": 2, "time_to_first_token": 1}},
		"a tool call":                   {[]string{"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"{\"}}]}}]}\n\n"}, map[string]float64{"output_sequence_length": 1, "time_to_first_token": 1}},
		"usage in the last chunk":       {[]string{chunk("a"), chunk("b"), "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5}}\n\n", done}, map[string]float64{"output_sequence_length": 5, "input_sequence_length": 9, "inter_token_latency": 0.25, "request_latency": 2}},
		"Triton's generate_stream":      {[]string{"data: {\"model_name\":\"m\",\"text_output\":\"a\"}\n\n", "data: {\"text_output\":\"b\"}\n\n"}, map[string]float64{"output_sequence_length": 2, "time_to_first_token": 1}},
		"text generation":               {[]string{"data: {\"token\":{\"text\":\"a\"}}\n\n", "data: {\"token\":{\"text\":\"b\"},\"generated_text\":\"ab\"}\n\n"}, map[string]float64{"output_sequence_length": 2, "time_to_second_token": 1}},
		"a whole answer":                {[]string{`{"choices":[{"message":{"content":"12345"}}]}`}, map[string]float64{"output_sequence_length": 2, "request_latency": 1}},
		"a whole answer with usage":     {[]string{`{"choices":[{"text":"12345"}],"usage":{"completion_tokens":7,"prompt_tokens":3}}`}, map[string]float64{"output_sequence_length": 7, "input_sequence_length": 3}},
		"a whole answer, parts as list": {[]string{`{"choices":[{"message":{"content":[{"type":"text","text":"1234"},{"type":"image_url"}]}}]}`}, map[string]float64{"output_sequence_length": 1}},
		"generate":                      {[]string{`{"text_output":["1234","5"]}`}, map[string]float64{"output_sequence_length": 2}},
		"text generation, whole":        {[]string{`[{"generated_text":"12345"}]`}, map[string]float64{"output_sequence_length": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := figures(read(t, "openai", nil, chat(0, c.responses...)))
			for metric, want := range c.want {
				require.InDelta(t, want, got[metric], 1e-9, "%s of %v", metric, got)
			}
			_, streams := got["time_to_first_token"]
			require.Equal(t, strings.Contains(c.responses[0], "data:") || strings.HasPrefix(c.responses[0], ":"), streams, "metrics of streams only for streams")
		})
	}
}

func TestRequestsWithoutText(t *testing.T) {
	t.Parallel()
	m := read(t, "openai", nil, chat(0, chunk("a")), chat(1, empty, done))
	require.Equal(t, 1, m.Silent)
	require.InDelta(t, 1, figures(m)["request_count"], 0)

	m = read(t, "openai", nil, chat(0, `{"object":"embedding","data":[]}`), chat(1, `{"data":[]}`))
	require.Equal(t, map[string]float64{"request_latency": 1, "request_throughput": 1000, "request_count": 2}, figures(m))
	require.Empty(t, m.OutputFrom)

	require.Empty(t, figures(read(t, "openai", nil)))
}

func TestGoodput(t *testing.T) {
	t.Parallel()
	goals, err := llm.ParseObjectives("time_to_first_token:1.5, inter_token_latency:1")
	require.NoError(t, err)
	more, err := llm.ParseObjectives("output_token_throughput_per_user:500\trequest_latency:4")
	require.NoError(t, err)
	m := read(t, "openai", append(goals, more...),
		chat(0, chunk("a"), chunk("b")),               // keeps all
		chat(0, chunk("a")),                           // keeps all: one token has no latency between tokens
		chat(0, empty, chunk("a")),                    // the first token is late
		chat(6, chunk("a"), empty, empty, chunk("b")), // slow
	)
	require.InDelta(t, 2/0.01, figures(m)["request_goodput"], 1e-9)

	for text, want := range map[string]string{
		"":                         "has no <metric>:<value>",
		"request_latency":          "is not <metric>:<value>",
		"request_latency:x":        "is not <metric>:<value>",
		"request_latency:-1":       "is not <metric>:<value>",
		"request_latenC:100":       `"request_latenC" is no metric of a request`,
		"output_sequence_length:3": "is no metric of a request",
	} {
		_, err := llm.ParseObjectives(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestTritonExport(t *testing.T) {
	t.Parallel()
	m := read(t, "triton", nil,
		`{"timestamp":1,"request_inputs":{"text_input":"This is test","stream":true},"response_timestamps":[3,5,8,9],"response_outputs":[{"text_output":"I"},{"text_output":" like"},{"text_output":" dogs"},{"text_output":""}]}`)
	require.Equal(t, []llm.Source{llm.Chunks}, m.OutputFrom)
	got := figures(m)
	require.InDelta(t, 7e-6, got["request_latency"], 1e-12)
	require.InDelta(t, 2e-6, got["time_to_first_token"], 1e-12)
	require.InDelta(t, 3, got["output_sequence_length"], 0)
	require.InDelta(t, 3, got["input_sequence_length"], 0)

	m = read(t, "triton_c_api", nil,
		`{"timestamp":1,"request_inputs":{"input_ids":[4,5,6]},"response_timestamps":[3,5],"response_outputs":[{"output_ids":7},{"output_ids":[8,9]}]}`)
	require.Equal(t, []llm.Source{llm.IDs}, m.OutputFrom)
	require.Equal(t, []llm.Source{llm.IDs}, m.InputFrom)
	require.InDelta(t, 3, figures(m)["output_sequence_length"], 0)
}

func text(name string, elements ...string) kserve.Tensor {
	k := kserve.Tensor{Name: name, DataType: tensor.Bytes, Shape: tensor.Shape{int64(len(elements))}}
	var b []byte
	for _, e := range elements {
		b = tensor.AppendElementString(b, e)
	}
	k.Data = tensor.NewData(tensor.HeapBuffer(b))
	return k
}

// TestProfile reads requests of a decoupled model whose tensors have other names.
func TestProfile(t *testing.T) {
	t.Parallel()
	p := &perf.Profile{Requests: []perf.RequestRecord{{
		Start: 0, Inputs: []kserve.Tensor{text("PROMPT", "12345")},
		Responses: []perf.ResponseRecord{
			{Time: 2e6, Outputs: []kserve.Tensor{text("OUT", "a")}},
			{Time: 4e6, Outputs: []kserve.Tensor{text("OUT", "b", "c")}},
			{Time: 9e6},
		},
	}}}
	got := figures(llm.Compute(llm.FromProfile(p, "triton"), nil))
	require.InDelta(t, 4, got["request_latency"], 1e-9)
	require.InDelta(t, 2, got["time_to_first_token"], 1e-9)
	require.InDelta(t, 2, got["output_sequence_length"], 0)
	require.InDelta(t, 2, got["input_sequence_length"], 0)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	turn := func(id string, start int) string {
		return strings.Replace(chat(start, chunk("a")), `"request_inputs":{`, fmt.Sprintf(`"request_inputs":{"session_id":%q,`, id), 1)
	}
	m := read(t, "openai", nil, turn("x", 0), turn("y", 2), turn("x", 3))
	require.Len(t, m.Sessions, 2)
	require.Equal(t, "x", m.Sessions[0].ID)
	require.InDelta(t, 2, figures(m.Sessions[0].Metrics)["request_count"], 0)
	require.InDelta(t, 2/0.004, figures(m.Sessions[0].Metrics)["request_throughput"], 1e-9)
	require.InDelta(t, 1000, figures(m.Sessions[1].Metrics)["request_throughput"], 1e-9)
}

func TestBadExports(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x":  "not a profile export file",
		"{}": "it has no experiments or no service_kind",
		`{"experiments":[{"requests":[{"response_timestamps":[1]}]}],"service_kind":"openai"}`: "experiment 0, request 0: 1 response_timestamps and 0 response_outputs",
	} {
		_, err := llm.ReadExport(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}
