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
