package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The comparison lane (`make compare`) puts the same questions to NVIDIA's
// server and to ours and wants the same answers. NVIDIA's has no ONNX Runtime
// there, so Python models of the same names, configurations and results stand in.

// differs lists the cases whose answers differ, with the reason; the same list
// in prose is docs/compatibility.md. A case that stops differing fails too.
var differs = map[string]string{
	"http GET /v2":                          "the list of extensions names what each server has; the version is its own",
	"http GET /v2/models/simple/config":     stoodIn,
	"http GET /v2/models/simple":            stoodIn,
	"http GET /v2/models/simple/versions/1": stoodIn,
	"grpc ServerMetadata":                   "the list of extensions names what each server has; the version is its own",
	"grpc ModelMetadata simple":             stoodIn,
	"grpc ModelMetadata simple 1":           stoodIn,
	"grpc ModelConfig simple":               stoodIn,
	"grpc ModelConfig simple 1":             stoodIn,

	"grpc ModelStatistics ":                       memory,
	"grpc ModelStatistics simple":                 memory,
	"grpc ModelStatistics simple 1":               memory,
	"http GET /v2/models/identity_bool/stats":     memory,
	"http GET /v2/models/simple/versions/1/stats": memory,

	"http POST /v2/models/simple/infer wrong header length text": "a length that is no number is refused, as by later Tritons",
	"http POST /v2/models/simple/infer gzip answer":              "another compressor: other bytes of the same text",
	"http POST /v2/models/simple/infer overflowing dims":         "NVIDIA's server aborts; ours refuses the shape",
}

const memory = "memory_usage is filled here; there only by an engine on a GPU that tracks it"

const stoodIn = "the engine's own names and defaults: python there, onnxruntime here"

func oracle(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TRITON_ORACLE")
	if dir == "" {
		t.Skip("TRITON_ORACLE is not set: run `make compare`")
	}
	return dir
}

const standIn = `import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.name = args["model_name"]

    def execute(self, requests):
        answers = []
        for r in requests:
            get = lambda n: pb_utils.get_input_tensor_by_name(r, n).as_numpy()
            if self.name.startswith("identity"):
                out = [pb_utils.Tensor("OUTPUT0", get("INPUT0"))]
            else:
                a, b = get("INPUT0"), get("INPUT1")
                text = a.dtype == np.object_
                if text:
                    a, b = a.astype(np.int32), b.astype(np.int32)
                both = [a + b, a - b]
                if text:
                    both = [np.array([str(x) for x in y.flatten()], dtype=np.object_).reshape(y.shape) for y in both]
                out = [pb_utils.Tensor("OUTPUT%d" % i, y) for i, y in enumerate(both)]
            wanted = r.requested_output_names()
            answers.append(pb_utils.InferenceResponse([o for o in out if o.name() in wanted]))
        return answers
`

var compared = []string{"simple", "simple_string", "identity_fp32", "identity_bool", "identity_string", "identity_uint64", "identity_fp16"}

// standInRepository is the example repository with Python models for NVIDIA.
func standInRepository(t *testing.T, ours string) string {
	t.Helper()
	dir := t.TempDir()
	engine := regexp.MustCompile(`(backend|platform):\s*"[^"]*"`)
	for _, m := range compared {
		config, err := os.ReadFile(filepath.Join(ours, m, "config.pbtxt"))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, m, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, m, "config.pbtxt"), engine.ReplaceAll(config, []byte(`backend: "python"`)), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, m, "1", "model.py"), []byte(standIn), 0o644))
	}
	return dir
}

// pair is both servers over the same models.
type pair struct {
	theirModels  string
	theirs, ours *server
}

func newPair(t *testing.T) *pair {
	t.Helper()
	oracle(t)
	models := exampleModels(t, compared...)
	p := &pair{theirModels: standInRepository(t, models), ours: serve(t, models, "--onnxruntime-library", needORT(t))}
	p.startTheirs(t)
	return p
}

func (p *pair) startTheirs(t *testing.T) {
	t.Helper()
	p.theirs = start(t, exec.Command(filepath.Join(oracle(t), "bin", "tritonserver"), "--model-repository", p.theirModels, "--allow-gpu-metrics=false"))
}

// httpCase is one question. Its name is "http METHOD PATH" with the remark.
type httpCase struct {
	method, path, remark string
	header               map[string]string
	body                 string
}

func (c httpCase) name() string {
	return strings.TrimSpace("http " + c.method + " " + c.path + " " + c.remark)
}

type answer struct {
	status int
	header string
	body   string
}

var volatile = regexp.MustCompile(`"(ns|last_inference|count|inference_count|execution_count)":\d+`)

func (c httpCase) ask(t *testing.T, s *server) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+s.http+c.path, strings.NewReader(c.body))
	require.NoError(t, err)
	for k, v := range c.header {
		req.Header.Set(k, v)
	}
	req.Header.Set("Accept-Encoding", c.header["Accept-Encoding"])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{body: "the connection ended without an answer"}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var head []string
	for _, k := range []string{"Content-Type", "Content-Encoding", "Inference-Header-Content-Length", "Content-Length", "Allow"} {
		if v, ok := resp.Header[k]; ok {
			head = append(head, k+": "+strings.Join(v, ", "))
		}
	}
	sort.Strings(head)
	if strings.Contains(c.path, "stats") {
		body = volatile.ReplaceAll(body, []byte(`"$1":0`))
	}
	return answer{resp.StatusCode, strings.Join(head, "\n"), string(body)}
}

func (a answer) String() string { return fmt.Sprintf("%d\n%s\n\n%s", a.status, a.header, a.body) }

// TestCompareHTTP asks both servers every question of httpCases.
func TestCompareHTTP(t *testing.T) {
	p := newPair(t)
	same, explained := 0, 0
	for _, c := range httpCases() {
		want, got := c.ask(t, p.theirs), c.ask(t, p.ours)
		if want.status == 0 { // some questions end NVIDIA's server
			p.startTheirs(t)
		}
		settle(t, c.name(), want.String(), got.String(), &same, &explained)
	}
	t.Logf("%d answers equal, %d differ for a written reason", same, explained)
}

func settle(t *testing.T, name, want, got string, same, explained *int) {
	t.Helper()
	reason, known := differs[name]
	switch {
	case want == got && !known:
		*same++
	case want == got:
		t.Errorf("%s: listed as different (%s), but the answers are equal", name, reason)
	case known:
		*explained++
	default:
		t.Errorf("%s\n--- NVIDIA\n%s\n--- ours\n%s\n", name, want, got)
	}
}

// row is the data of one request row of `simple`.
func row(n int) string {
	var b bytes.Buffer
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, i)
	}
	return b.String()
}
