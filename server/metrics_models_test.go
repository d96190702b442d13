package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
)

// measured makes the metrics of TensorRT-LLM's backend, a counter whose family is lost and metrics
// with names of the server's own. It answers the values of the last.
const measured = `
import gc, numpy as np
C, G = pb_utils.MetricFamily.COUNTER, pb_utils.MetricFamily.GAUGE
def refused(name, kind):
    try: pb_utils.MetricFamily(name=name, description="d", kind=kind)
    except pb_utils.TritonModelException as e: return "already exists with different type" in str(e)
    return False
def lost():
    return pb_utils.MetricFamily(name="lost_counter", description="d", kind=C).Metric(labels={"model": "m"})
class TritonPythonModel:
    def initialize(self, args):
        self.family = pb_utils.MetricFamily(name="nv_trt_llm_kv_cache_block_metrics", description="Blocks", kind=G)
        self.blocks = []
        for kind, value in (("tokens_per", 64), ("used", 3), ("max", 12)):
            self.blocks.append(self.family.Metric(labels={"kv_cache_block_type": kind}))
            self.blocks[-1].set(value)
        self.shared = pb_utils.MetricFamily(name="nv_inference_count", description="d", kind=C)
        self.row = self.shared.Metric(labels={"model": "elsewhere"})
        self.row.increment(5)
        self.lost = lost()
        self.lost2 = lost()
        gc.collect()
    def execute(self, requests):
        try: self.lost.increment(1); kept = 1.
        except pb_utils.TritonModelException: kept = 0.
        v = [kept, refused("nv_inference_count", G), refused("nv_gpu_utilization", C), refused("process_open_fds", C), refused("nv_own", C), refused("triton_own", C)]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([v], dtype=np.float32))]) for r in requests]
`

// TestMetricsOfModels: models may name their metrics as the server does, with the families of
// TensorRT-LLM load reports are sent, and the page stays valid.
func TestMetricsOfModels(t *testing.T) {
	t.Parallel()
	python := needsPython(t)
	dir := t.TempDir()
	writePython(t, dir, "m", "", measured)
	s := servertest.Start(t, servertest.Repository(dir), servertest.With(func(o *server.Options) {
		o.BackendSettings, o.Metrics.GPU = pythonSettings(python), false
	}))
	c := newClient(t)
	status, answer, err := post(c, "http://"+s.HTTP+"/v2/models/m/infer", `{"inputs":[{"name":"IN","shape":[1,1],"datatype":"FP32","data":[1]}]}`)
	require.NoError(t, err)
	require.Equal(t, 200, status, answer)
	require.Contains(t, answer, `"data":[0.0,1.0,1.0,1.0,0.0,0.0]`)
	_, page := get(t, c, "http://"+s.Metrics+"/metrics")
	require.Contains(t, page, `nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used"} 3`)
	require.Contains(t, page, `nv_inference_count{model="elsewhere"} 5`)
	require.Contains(t, page, `nv_inference_count{model="m",version="1"} 1`)
	require.NotContains(t, page, "lost_counter")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.HTTP+"/v2/models/m/generate", strings.NewReader(`{"IN":1}`))
	require.NoError(t, err)
	req.Header.Set("endpoint-load-metrics-format", "json")
	resp, err := c.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, `JSON {"named_metrics":{"kv_cache_utilization":0.25,"max_token_capacity":768}}`, resp.Header.Get("endpoint-load-metrics"))
}

// llmMetrics makes every family that TensorRT-LLM's backend makes, with its names, kinds, labels and buckets, and
// reports one iteration and one request.
const llmMetrics = `
F = pb_utils.MetricFamily
GROUPS = (
    ("nv_trt_llm_request_metrics", F.GAUGE, "request_type", {"active": 1, "max": 512, "scheduled": 1, "context": 0, "waiting": 3}),
    ("nv_trt_llm_runtime_memory_metrics", F.GAUGE, "memory_type", {"cpu": 28048, "gpu": 46985364092, "pinned": 0}),
    ("nv_trt_llm_kv_cache_block_metrics", F.GAUGE, "kv_cache_block_type", {"max": 2448, "free": 2446, "used": 2, "tokens_per": 64, "reused": 0, "fraction": 0.25}),
    ("nv_trt_llm_disaggregated_serving_metrics", F.COUNTER, "disaggregated_serving_type", {"kv_cache_transfer_ms": 12.5, "request_count": 4}),
    ("nv_trt_llm_inflight_batcher_metrics", F.GAUGE, "inflight_batcher_specific_metric", {"total_context_tokens": 0, "generation_requests": 1, "micro_batch_id": 0, "paused_requests": 0}),
    ("nv_trt_llm_general_metrics", F.GAUGE, "general_type", {"timestamp": 1732786400123456, "iteration_counter": 97}),
    ("nv_llm_output_token_len", F.HISTOGRAM, "response_metric_type", {"total_output_tokens": 100}),
    ("nv_llm_input_token_len", F.HISTOGRAM, "response_metric_type", {"total_input_tokens": 12}),
)
class TritonPythonModel:
    def initialize(self, args):
        self.kept = []
        for name, kind, category, values in GROUPS:
            family = F(name=name, description="TRT LLM metrics", kind=kind)
            self.kept.append(family)
            for label, value in values.items():
                labels = {"model": args["model_name"], "version": args["model_version"], category: label}
                buckets = {"buckets": [10.0, 50.0, 100.0, 500.0, 1000.0]} if kind == F.HISTOGRAM else {}
                metric = family.Metric(labels=labels, **buckets)
                {F.GAUGE: metric.set, F.COUNTER: metric.increment, F.HISTOGRAM: metric.observe}[kind](value)
                self.kept.append(metric)
    def execute(self, requests): return []
`

// TestMetricsOfTensorRTLLM: the page has TensorRT-LLM's metrics as its own tests and its users' dashboards read them: labels
// by name and "le" behind them, whole numbers without an exponent, and one family for all models.
func TestMetricsOfTensorRTLLM(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts Python processes")
	}
	python := needsPython(t)
	dir := t.TempDir()
	models := []string{"tensorrt_llm", "tensorrt_llm_draft"}
	for _, name := range models {
		writePython(t, dir, name, "", llmMetrics)
	}
	s := servertest.Start(t, servertest.Repository(dir), servertest.With(func(o *server.Options) {
		o.BackendSettings, o.Metrics.GPU = pythonSettings(python), false
	}))
	_, page := get(t, newClient(t), "http://"+s.Metrics+"/metrics")
	var read []string
	for line := range strings.Lines(page) {
		if strings.Contains(line, "nv_trt_llm_") || strings.Contains(line, "nv_llm_") {
			read = append(read, line)
		}
	}
	kinds := map[string]string{}
	for _, line := range read {
		if name, kind, ok := strings.Cut(strings.TrimPrefix(line, "# TYPE "), " "); ok && strings.HasPrefix(line, "# TYPE ") {
			require.NotContains(t, kinds, name, "a family is on the page once")
			kinds[name] = strings.TrimSpace(kind)
		}
	}
	require.Equal(t, map[string]string{
		"nv_trt_llm_request_metrics": "gauge", "nv_trt_llm_runtime_memory_metrics": "gauge", "nv_trt_llm_kv_cache_block_metrics": "gauge",
		"nv_trt_llm_disaggregated_serving_metrics": "counter", "nv_trt_llm_inflight_batcher_metrics": "gauge", "nv_trt_llm_general_metrics": "gauge",
		"nv_llm_output_token_len": "histogram", "nv_llm_input_token_len": "histogram",
	}, kinds)
	for _, name := range models {
		for _, line := range []string{
			`nv_trt_llm_request_metrics{model="M",request_type="active",version="1"} 1`,
			`nv_trt_llm_request_metrics{model="M",request_type="max",version="1"} 512`,
			`nv_trt_llm_request_metrics{model="M",request_type="scheduled",version="1"} 1`,
			`nv_trt_llm_request_metrics{model="M",request_type="context",version="1"} 0`,
			`nv_trt_llm_request_metrics{model="M",request_type="waiting",version="1"} 3`,
			`nv_trt_llm_runtime_memory_metrics{memory_type="cpu",model="M",version="1"} 28048`,
			`nv_trt_llm_runtime_memory_metrics{memory_type="gpu",model="M",version="1"} 46985364092`,
			`nv_trt_llm_runtime_memory_metrics{memory_type="pinned",model="M",version="1"} 0`,
			`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="M",version="1"} 64`,
			`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="M",version="1"} 2`,
			`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="free",model="M",version="1"} 2446`,
			`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="M",version="1"} 2448`,
			`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="reused",model="M",version="1"} 0`,
			`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="M",version="1"} 0.25`,
			`nv_trt_llm_disaggregated_serving_metrics{disaggregated_serving_type="kv_cache_transfer_ms",model="M",version="1"} 12.5`,
			`nv_trt_llm_disaggregated_serving_metrics{disaggregated_serving_type="request_count",model="M",version="1"} 4`,
			`nv_trt_llm_inflight_batcher_metrics{inflight_batcher_specific_metric="total_context_tokens",model="M",version="1"} 0`,
			`nv_trt_llm_inflight_batcher_metrics{inflight_batcher_specific_metric="generation_requests",model="M",version="1"} 1`,
			`nv_trt_llm_inflight_batcher_metrics{inflight_batcher_specific_metric="micro_batch_id",model="M",version="1"} 0`,
			`nv_trt_llm_inflight_batcher_metrics{inflight_batcher_specific_metric="paused_requests",model="M",version="1"} 0`,
			`nv_trt_llm_general_metrics{general_type="timestamp",model="M",version="1"} 1732786400123456`,
			`nv_trt_llm_general_metrics{general_type="iteration_counter",model="M",version="1"} 97`,
			`nv_llm_output_token_len_count{model="M",response_metric_type="total_output_tokens",version="1"} 1`,
			`nv_llm_output_token_len_sum{model="M",response_metric_type="total_output_tokens",version="1"} 100`,
			`nv_llm_output_token_len_bucket{model="M",response_metric_type="total_output_tokens",version="1",le="10"} 0`,
			`nv_llm_output_token_len_bucket{model="M",response_metric_type="total_output_tokens",version="1",le="50"} 0`,
			`nv_llm_output_token_len_bucket{model="M",response_metric_type="total_output_tokens",version="1",le="100"} 1`,
			`nv_llm_output_token_len_bucket{model="M",response_metric_type="total_output_tokens",version="1",le="500"} 1`,
			`nv_llm_output_token_len_bucket{model="M",response_metric_type="total_output_tokens",version="1",le="1000"} 1`,
			`nv_llm_output_token_len_bucket{model="M",response_metric_type="total_output_tokens",version="1",le="+Inf"} 1`,
			`nv_llm_input_token_len_bucket{model="M",response_metric_type="total_input_tokens",version="1",le="10"} 0`,
			`nv_llm_input_token_len_bucket{model="M",response_metric_type="total_input_tokens",version="1",le="50"} 1`,
		} {
			require.Contains(t, read, strings.ReplaceAll(line, `"M"`, `"`+name+`"`)+"\n")
		}
	}
}
