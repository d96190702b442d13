package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf/llm"
)

// metrics are those of three requests of 4, 5 and 6 ms.
func metrics(stream bool) *llm.Metrics {
	var all []llm.Request
	for i := range 3 {
		end := int64(4+i) * 1e6
		all = append(all, llm.Request{
			End: end, Stream: stream, Session: "s",
			Responses: []llm.Response{{Time: 1e6, Text: "a", Chunks: 1}, {Time: end, Text: "b", Chunks: 1}},
			Input:     llm.Tokens{Count: 5 + i, From: llm.Usage}, Output: llm.Tokens{Count: 2, From: llm.Chunks},
		})
	}
	return llm.Compute(all, []llm.Objective{{Metric: "request_latency", Value: 5}})
}

func TestCSV(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, llm.WriteCSV(&b, metrics(true)))
	// Statistics of 4, 5, 6 as genai-perf prints them.
	require.Equal(t, strings.Join([]string{
		"Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1",
		"Time To First Token (ms),1.00,1.00,1.00,1.00,1.00,1.00,1.00,1.00,1.00,1.00,1.00,1.00",
		"Time To Second Token (ms),4.00,3.00,5.00,4.98,4.90,4.80,4.50,4.00,3.50,3.20,3.10,3.02",
		"Request Latency (ms),5.00,4.00,6.00,5.98,5.90,5.80,5.50,5.00,4.50,4.20,4.10,4.02",
		"Inter Token Latency (ms),4.00,3.00,5.00,4.98,4.90,4.80,4.50,4.00,3.50,3.20,3.10,3.02",
		"Output Token Throughput Per User (tokens/sec/user),261.11,200.00,333.33,331.67,325.00,316.67,291.67,250.00,225.00,210.00,205.00,201.00",
		"Output Sequence Length (tokens),2.00,2.00,2.00,2.00,2.00,2.00,2.00,2.00,2.00,2.00,2.00,2.00",
		"Input Sequence Length (tokens),6.00,5.00,7.00,6.98,6.90,6.80,6.50,6.00,5.50,5.20,5.10,5.02",
		"",
		"Metric,Value",
		`Output Token Throughput (tokens/sec),"1,000.00"`,
		"Request Throughput (per sec),500.00",
		"Request Goodput (per sec),333.33",
		"Request Count (count),3.00",
		"",
	}, "\r\n"), b.String())

	b.Reset()
	require.NoError(t, llm.WriteCSV(&b, metrics(false)))
	require.NotContains(t, b.String(), "Token Latency", "no metrics of streams")
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, llm.WriteJSON(&b, metrics(true), llm.GenAIPerfRun{
		Model: "m", ServiceKind: "openai", Endpoint: "v1/chat/completions", URL: "h:1", Mode: "concurrency", Value: 2,
		ExportFile: "p.json", Goals: []llm.Objective{{Metric: "request_latency", Value: 5}},
	}))
	var got struct {
		Latency map[string]any `json:"request_latency"`
		Count   map[string]any `json:"request_count"`
		Rate    map[string]any `json:"request_throughput"`
		Config  struct {
			Models   []string `json:"model_names"`
			Endpoint struct{ Streaming bool }
			Perf     struct{ Stimulus map[string]float64 } `json:"perf_analyzer"`
			Input    struct{ Goodput map[string]float64 }
		} `json:"input_config"`
		Tokens   map[string][]string       `json:"token_counts"`
		Sessions map[string]map[string]any `json:"sessions"`
	}
	require.NoError(t, json.Unmarshal([]byte(b.String()), &got))
	require.Len(t, got.Latency, 14)
	require.Equal(t, "ms", got.Latency["unit"])
	for name, want := range map[string]float64{
		"avg": 5, "p1": 4.02, "p5": 4.1, "p10": 4.2, "p25": 4.5, "p50": 5, "p75": 5.5, "p90": 5.8, "p95": 5.9, "p99": 5.98,
		"min": 4, "max": 6, "std": 0.816496580927726,
	} {
		require.InDelta(t, want, got.Latency[name], 1e-12, name)
	}
	require.Equal(t, map[string]any{"unit": "count", "avg": 3.0}, got.Count)
	require.Equal(t, map[string]any{"unit": "requests/sec", "avg": 500.0}, got.Rate)
	require.Equal(t, []string{"m"}, got.Config.Models)
	require.True(t, got.Config.Endpoint.Streaming)
	require.Equal(t, map[string]float64{"concurrency": 2}, got.Config.Perf.Stimulus)
	require.Equal(t, map[string]float64{"request_latency": 5}, got.Config.Input.Goodput)
	require.Equal(t, map[string][]string{"output": {"chunks"}, "input": {"usage"}}, got.Tokens)
	require.Contains(t, got.Sessions["s"], "time_to_first_token")
	require.Less(t, strings.Index(b.String(), "request_throughput"), strings.Index(b.String(), "request_latency"), "genai-perf's order")
	require.True(t, strings.HasPrefix(b.String(), "{\n  \"request_throughput\": {\n    \"unit\""), b.String())
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, llm.WriteTable(&b, metrics(true)))
	require.Contains(t, b.String(), "│         Request Latency (ms) │     5.00 │")
	require.Contains(t, b.String(), "│      Output Token Throughput │ 1,000.00 │    N/A │    N/A │    N/A │    N/A │\n│                 (tokens/sec) │")
	require.True(t, strings.HasSuffix(b.String(), "Tokens are counted by: chunks (output), usage (input).\n"), b.String())
}
