package python

import (
	"encoding/binary"
	cmdline "flag"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

var python = cmdline.String("python", "", "a Python with numpy, instead of that of .venv")

// interpreter is a Python with numpy: that of the flag -python, that of .venv, or python3.
func interpreter(t testing.TB) string {
	t.Helper()
	if *python != "" {
		return *python
	}
	for _, path := range []string{"../../../.venv/bin/python", "python3"} {
		if filepath.Base(path) != path {
			path, _ = filepath.Abs(path)
		}
		if exec.CommandContext(t.Context(), path, "-c", "import numpy").Run() == nil {
			return path
		}
	}
	t.Skip("needs Python with numpy: run `make .venv/.stamp`")
	return ""
}

const header = "import triton_python_backend_utils as pb_utils\nimport numpy as np\n"

// harness runs one instance of a model.
type harness struct {
	t        testing.TB
	backend  *Backend
	spec     backend.Spec
	pool     *tensor.Pool
	log      *strings.Builder
	mu       *sync.Mutex
	instance backend.Instance
	close    func() error // closes the instance, once
}

func newHarness(t testing.TB, source string) *harness {
	t.Helper()
	python := interpreter(t)
	dir := filepath.Join(t.TempDir(), "m", "1")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.py"), []byte(header+source), 0o644))
	h := &harness{t: t, backend: New(), pool: tensor.NewPool(), log: &strings.Builder{}, mu: &sync.Mutex{}}
	t.Cleanup(func() {
		require.Zero(t, h.backend.modules.mu.users)
		if dir := h.backend.modules.mu.dir; dir != "" {
			require.NoDirExists(t, dir)
		}
	})
	h.spec = backend.Spec{
		Name: "m", Version: 1, Dir: dir, Pool: h.pool, Log: slog.New(slog.NewTextHandler(h, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Settings: map[string]string{"python-executable": python, "start-timeout-seconds": "600"}, // the machine may be busy
		Config: &inferencepb.ModelConfig{
			Name: "m", Backend: Name,
			Input:  []*inferencepb.ModelInput{{Name: "IN", DataType: inferencepb.DataType_TYPE_FP32, Dims: []int64{-1}}},
			Output: []*inferencepb.ModelOutput{{Name: "OUT", DataType: inferencepb.DataType_TYPE_FP32, Dims: []int64{-1}}},
		},
	}
	return h
}

// Write keeps the log.
func (h *harness) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

func (h *harness) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// end closes the instance and returns the log, which has everything that the child printed and logged:
// its reply overtakes both.
func (h *harness) end() string {
	require.NoError(h.t, h.close())
	return h.logged()
}

// load makes the instance; the test's end closes it and looks for what is left.
func (h *harness) load() error {
	m, err := h.backend.Load(h.t.Context(), h.spec)
	if err != nil {
		return err
	}
	h.t.Cleanup(func() { require.NoError(h.t, m.Close()) })
	in, err := m.NewInstance(h.t.Context(), backend.Placement{Name: "m_0", Kind: inferencepb.ModelInstanceGroup_KIND_CPU})
	if err != nil {
		return err
	}
	end := sync.OnceValue(in.Close)
	h.instance, h.close = in, end // of the last load
	h.t.Cleanup(func() {
		require.NoError(h.t, end())
		memory, err := h.backend.memory()
		require.NoError(h.t, err)
		require.Eventually(h.t, func() bool { return memory.pool.Outstanding() == 0 }, waitFor, tick) // a call may end after its child
	})
	return nil
}

// request has an input IN.
func (h *harness) request(kind tensor.DataType, shape tensor.Shape, data []byte) *infer.Request {
	r := infer.NewRequest()
	r.Unary()
	r.Pool, r.ID, r.ModelName = h.pool, "id", "m"
	in := r.AddInput()
	in.Name, in.DataType, in.Data = "IN", kind, tensor.NewData(tensor.HeapBuffer(data))
	in.Shape = append(in.Shape[:0], shape...)
	return r
}

// run executes a batch and returns the responses, which the test releases.
func (h *harness) run(requests ...*infer.Request) ([]*infer.Response, error) {
	var b infer.Batch
	for _, r := range requests {
		b.Add(r)
	}
	err := h.instance.Execute(h.t.Context(), &b)
	var all []*infer.Response
	for _, r := range requests {
		if err == nil {
			resp, failed := r.Wait(h.t.Context())
			if failed != nil {
				resp = infer.NewResponse()
				resp.Err = failed
			}
			all = append(all, resp)
		} else {
			r.Release()
		}
		r.Release()
	}
	return all, err
}

func floats(n int) []byte {
	b := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(i))
	}
	return b
}

func bytesOf(d *tensor.Data) []byte {
	b := make([]byte, d.Len())
	d.CopyTo(b)
	return b
}

// How long and how often tests look for something that happens soon.
const (
	waitFor = time.Minute
	tick    = 5 * time.Millisecond
)

// containsRecord reports whether the log has a text.
func containsRecord(h *harness, text string) bool { return strings.Contains(h.logged(), text) }
