package perf_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/cuda"
	"triton/server"
	"triton/server/servertest"
)

const sumModel = `backend: "sequence"
max_batch_size: 1
input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }
sequence_batching {
  max_sequence_idle_microseconds: 60000000
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
}
`

const repeatModel = `backend: "repeat"
model_transaction_policy { decoupled: true }
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }
input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }
`

// slashModel has tensors whose names differ in a slash.
const slashModel = `platform: "ensemble"
input [ { name: "IN/PUT0" data_type: TYPE_INT32 dims: [ 1, 4 ] }, { name: "INPUT0" data_type: TYPE_INT32 dims: [ 1, 4 ] } ]
output [ { name: "OUT/PUT0" data_type: TYPE_INT32 dims: [ 1, 4 ] }, { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 1, 4 ] } ]
ensemble_scheduling { step [
  { model_name: "numbers" model_version: -1 input_map { key: "INPUT0" value: "IN/PUT0" } output_map { key: "OUTPUT0" value: "OUT/PUT0" } },
  { model_name: "numbers" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "OUTPUT0" } }
] }
`

const optionalModel = `backend: "identity"
input [ { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }, { name: "INPUT1" data_type: TYPE_INT32 dims: [ 4 ] optional: true } ]
output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }, { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ 4 ] } ]
`

func needsLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("POSIX shared memory is a file only on Linux")
	}
}

// sharedServer is a real server whose clients may register memory.
func sharedServer(t *testing.T, more ...servertest.Option) *servertest.Server {
	t.Helper()
	needsLinux(t)
	return servertest.Start(t, append(more,
		servertest.Model("numbers", servertest.Identity("INT32", "4", 8)),
		servertest.Model("text", servertest.Identity("STRING", "-1", 8)),
		servertest.Model("sum", sumModel),
		servertest.Model("repeat", repeatModel),
		servertest.Model("slash", slashModel),
		servertest.Model("optional", optionalModel),
		servertest.With(func(o *server.Options) { o.ClientSharedMemory = true }))...)
}

// sharedRun is a run with shared memory on a real server.
type sharedRun struct {
	perf.Config
	protocol client.Protocol
	address  string
	// watched are the regions at the start of the first level.
	watched   []client.SystemRegion
	inspect   *client.Client
	during    func() // at the start of the first level; may be nil
	interrupt chan struct{}
	notices   []string
}

func newSharedRun(t *testing.T, s *servertest.Server, p client.Protocol, model string) *sharedRun {
	t.Helper()
	r := &sharedRun{Config: perf.DefaultConfig(model), protocol: p, address: s.HTTP, interrupt: make(chan struct{})}
	if p == client.GRPC {
		r.address = s.GRPC
	}
	r.Memory = perf.SystemMemory
	r.RequestCount, r.Windows, r.Samples = 40, perf.CountWindows, 40
	c, err := client.New(client.Options{Protocol: p, Address: r.address})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	r.inspect = c
	return r
}

func (r *sharedRun) Observe(e perf.Event) {
	switch e := e.(type) {
	case perf.LevelStarted:
		if r.watched == nil {
			r.watched, _ = r.inspect.SystemMemory(context.Background(), "")
		}
		if r.during != nil {
			r.during()
			r.during = nil
		}
	case perf.Notice:
		if !strings.Contains(e.Text, "Pass contained only one request") { // an interrupt may come that early
			r.notices = append(r.notices, e.Text)
		}
	}
}

func (r *sharedRun) run(ctx context.Context) (*perf.Report, error) {
	return perf.Run(ctx, r.Config, perf.Deps{
		Dial: func(context.Context) (perf.Target, error) {
			return perf.Connect(lane.Options{Options: client.Options{Protocol: r.protocol, Address: r.address}, Streaming: r.Streaming})
		},
		Observer: r, Interrupt: r.interrupt,
	})
}

// requireGone checks that the run has left no region and no object. The server knows a region until the last
// request with it has ended, also one that nobody waits for any more.
func (r *sharedRun) requireGone(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		all, err := r.inspect.SystemMemory(t.Context(), "")
		return err == nil && len(all) == 0
	}, time.Minute, time.Millisecond, "regions are left")
	for _, region := range r.watched {
		require.NoFileExists(t, "/dev/shm"+region.Key)
		lock := region.Key[:len("/triton_perf_")+8]
		require.NoFileExists(t, "/dev/shm"+lock)
	}
	require.Empty(t, r.notices)
}

// names returns the names of the watched regions without the prefix of the run.
func (r *sharedRun) names(t *testing.T) (names []string) {
	t.Helper()
	for _, region := range r.watched {
		require.Regexp(t, "^triton_perf_[0-9a-f]{8}_", region.Name)
		require.Equal(t, "/"+region.Name, region.Key)
		require.Zero(t, region.Offset)
		names = append(names, fmt.Sprintf("%s %d", region.Name[len("triton_perf_01234567_"):], region.Size))
	}
	return names
}

func dataFile(t *testing.T, content string) data.Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.json")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	o := data.DefaultOptions()
	o.Source, o.Paths = data.Files, []string{path}
	return o
}

// steps is data with an expected output for each of its steps.
const steps = `{"data":[{"INPUT0":[1,2,3,4]},{"INPUT0":[5,6,7,8]},{"INPUT0":[9,9,9,9]}],` +
	`"validation_data":[{"OUTPUT0":[1,2,3,4]},{"OUTPUT0":[5,6,7,8]},{"OUTPUT0":[9,9,9,9]}]}`

func TestSystemSharedMemory(t *testing.T) {
	t.Parallel()
	s := sharedServer(t)
	text := base64.StdEncoding.EncodeToString([]byte("\x03\x00\x00\x00abc\x00\x00\x00\x00"))
	for _, c := range []struct {
		name, model string
		setup       func(t *testing.T, r *sharedRun)
		names       []string
	}{
		{"random", "numbers", func(_ *testing.T, r *sharedRun) { r.Batches = []int{2} }, []string{"INPUT0_0_0 32", "OUTPUT0 32"}},
		{"batches", "numbers", func(_ *testing.T, r *sharedRun) { r.Batches = []int{1, 4} }, []string{"INPUT0_0_0 16", "OUTPUT0 16"}},
		{"steps", "numbers", func(t *testing.T, r *sharedRun) { r.Data.Steps = 2 }, []string{"INPUT0_0_0 16", "INPUT0_0_1 16", "OUTPUT0 16"}},
		{"rate", "numbers", func(t *testing.T, r *sharedRun) {
			r.Mode, r.Range = perf.RequestRate, perf.Range{Start: 400, End: 400, Step: 1}
		}, []string{"INPUT0_0_0 16", "OUTPUT0 16"}},
		{"validated", "numbers", func(t *testing.T, r *sharedRun) {
			r.Data, r.Batches, r.Range = dataFile(t, steps), []int{2}, perf.Range{Start: 4, End: 4, Step: 1}
		}, []string{
			"INPUT0_0_0 32", "INPUT0_0_1 32", "INPUT0_0_2 32", "OUTPUT0_0_0_out 32", "OUTPUT0_0_1_out 32", "OUTPUT0_0_2_out 32",
		}},
		{"text", "text", func(t *testing.T, r *sharedRun) {
			r.Data = dataFile(t, `{"data":[{"INPUT0":{"b64":"`+text+`","shape":[2]}}],"validation_data":[{"OUTPUT0":{"b64":"`+text+`","shape":[2]}}]}`)
			r.Batches, r.OutputMemory = []int{2}, 100
		}, []string{"INPUT0_0_0 22", "OUTPUT0_0_0_out 200"}},
		{"sequence", "sum", func(t *testing.T, r *sharedRun) {
			r.Data = dataFile(t, `{"data":[[{"INPUT":[1]},{"INPUT":[2]}],[{"INPUT":[3]},{"INPUT":[4]}]],`+
				`"validation_data":[[{"OUTPUT":[1]},{"OUTPUT":[3]}],[{"OUTPUT":[3]},{"OUTPUT":[7]}]]}`)
			r.Sequences.Variation = 0
			r.Range = perf.Range{Start: 2, End: 2, Step: 1}
		}, []string{
			"INPUT_0_0 4", "INPUT_0_1 4", "INPUT_1_0 4", "INPUT_1_1 4",
			"OUTPUT_0_0_out 4", "OUTPUT_0_1_out 4", "OUTPUT_1_0_out 4", "OUTPUT_1_1_out 4",
		}},
		{"slashes", "slash", func(t *testing.T, r *sharedRun) {}, []string{
			"INPUT0_0_0 16", "INPUT0_0_0_2 16", "OUTPUT0 16", "OUTPUT0_2 16",
		}},
	} {
		for _, p := range []client.Protocol{client.HTTP, client.GRPC} {
			t.Run(c.name+" "+p.String(), func(t *testing.T) {
				r := newSharedRun(t, s, p, c.model)
				c.setup(t, r)
				rep, err := r.run(t.Context())
				require.NoError(t, err)
				require.Len(t, rep.Levels, len(r.Batches))
				for _, l := range rep.Levels {
					require.EqualValues(t, 40, l.Requests)
				}
				require.Equal(t, c.names, r.names(t))
				r.requireGone(t)
			})
		}
	}
	t.Run("streaming", func(t *testing.T) {
		r := newSharedRun(t, s, client.GRPC, "repeat")
		r.Streaming = true
		r.Data = dataFile(t, `{"data":[{"IN":{"content":[1,2,3],"shape":[3]},"DELAY":{"content":[0,0,0],"shape":[3]},"WAIT":[0]}],`+
			`"validation_data":[{"OUT":[3],"IDX":[2]}]}`)
		_, err := r.run(t.Context())
		require.NoError(t, err)
		r.requireGone(t)
	})
}

// Regions go at the end, whatever ends the run.
func TestSharedMemoryEnds(t *testing.T) {
	t.Parallel()
	s := sharedServer(t)
	for _, p := range []client.Protocol{client.HTTP, client.GRPC} {
		endless := func(t *testing.T, model string) *sharedRun {
			r := newSharedRun(t, s, p, model)
			r.RequestCount, r.Windows, r.Interval = 0, perf.TimeWindows, time.Minute
			return r
		}
		t.Run("failed requests "+p.String(), func(t *testing.T) {
			r := newSharedRun(t, s, p, "text")
			r.Data.Shapes, r.OutputMemory = map[string][]int64{"INPUT0": {16}}, 10
			_, err := r.run(t.Context())
			var failed *perf.LoadError
			require.ErrorAs(t, err, &failed)
			require.ErrorContains(t, failed.Failures[0].Err, "OUTPUT0")
			r.requireGone(t)
		})
		t.Run("wrong output "+p.String(), func(t *testing.T) {
			r := newSharedRun(t, s, p, "numbers")
			r.Data = dataFile(t, strings.Replace(steps, `"OUTPUT0":[5`, `"OUTPUT0":[6`, 1))
			_, err := r.run(t.Context())
			var failed *perf.LoadError
			require.ErrorAs(t, err, &failed)
			require.EqualError(t, failed.Failures[0].Err, "Output doesn't match expected output")
			r.requireGone(t)
		})
		t.Run("interrupt "+p.String(), func(t *testing.T) {
			r := endless(t, "numbers")
			r.during = sync.OnceFunc(func() { close(r.interrupt) })
			rep, err := r.run(t.Context())
			require.NoError(t, err)
			require.True(t, rep.Interrupted)
			r.requireGone(t)
		})
		t.Run("second interrupt "+p.String(), func(t *testing.T) {
			r := endless(t, "numbers")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.during = cancel
			_, err := r.run(ctx)
			require.ErrorIs(t, err, context.Canceled)
			r.requireGone(t)
		})
		t.Run("registration "+p.String(), func(t *testing.T) {
			r := newSharedRun(t, s, p, "text")
			r.Data.Shapes, r.OutputMemory = map[string][]int64{"INPUT0": {1}}, 0
			_, err := r.run(t.Context())
			require.EqualError(t, err, "Unable to init infer data manager: the size of output OUTPUT0 varies: its shared memory must not be of 0 bytes")
			r.requireGone(t)
		})
		t.Run("optional inputs "+p.String(), func(t *testing.T) {
			r := newSharedRun(t, s, p, "optional")
			r.Data = dataFile(t, `{"data":[{"INPUT0":[1,2,3,4]}]}`)
			_, err := r.run(t.Context())
			require.EqualError(t, err, "Unable to init infer data manager: Shared memory support in Perf Analyzer does not support optional inputs at this time")
			r.requireGone(t)
		})
	}
}

// A run frees the memory of one that was killed, and nothing else.
func TestSharedMemoryOfOthers(t *testing.T) {
	t.Parallel()
	s := sharedServer(t)
	r := newSharedRun(t, s, client.HTTP, "numbers")
	file := func(name string) {
		require.NoError(t, os.WriteFile("/dev/shm/"+name, make([]byte, 64), 0o600))
		t.Cleanup(func() { _ = os.Remove("/dev/shm/" + name) })
		require.NoError(t, r.inspect.RegisterSystemMemory(t.Context(), client.SystemRegion{Name: name, Key: "/" + name, Size: 64}))
	}
	tag := fmt.Sprintf("%08x", os.Getpid())
	killed, other := "triton_perf_"+tag+"_INPUT0_0_0", "other_"+tag
	running, err := os.Create("/dev/shm/triton_perf_" + tag)
	require.NoError(t, err)
	require.NoError(t, perf.Lock(running), "as long as it lives, runs of other tests leave its memory alone")
	file(killed)
	file(other)
	require.NoError(t, running.Close())
	_, err = r.run(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.notices)
	require.NoFileExists(t, "/dev/shm/"+killed)
	require.NoFileExists(t, "/dev/shm/triton_perf_"+tag)
	all, err := r.inspect.SystemMemory(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []client.SystemRegion{{Name: other, Key: "/" + other, Size: 64}}, all)
	require.Len(t, r.watched, 3, "with the one of the other client")

	// Two runs at the same time.
	var wg sync.WaitGroup
	for range 2 {
		again := newSharedRun(t, s, client.HTTP, "numbers")
		wg.Go(func() {
			if _, err := again.run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestSharedMemoryIsDisabled(t *testing.T) {
	t.Parallel()
	needsLinux(t)
	s := servertest.Start(t, servertest.Model("numbers", servertest.Identity("INT32", "4", 8)))
	r := newSharedRun(t, s, client.GRPC, "numbers")
	_, err := r.run(t.Context())
	require.ErrorContains(t, err, "Unable to init infer data manager: register shared memory region 'triton_perf_")
	require.ErrorContains(t, err, "Start the server with '--allow-client-shm=true' to enable.")
}

const identityPython = `
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0",
            pb_utils.get_input_tensor_by_name(r, "INPUT0").as_numpy())]) for r in requests]
`

// needsPython returns a Python with numpy: that of .venv, else python3.
func needsPython(t *testing.T) string {
	t.Helper()
	venv, err := filepath.Abs("../.venv/bin/python")
	require.NoError(t, err)
	for _, path := range []string{venv, "python3"} {
		if exec.CommandContext(t.Context(), path, "-c", "import numpy").Run() == nil {
			return path
		}
	}
	t.Skip("needs Python with numpy: run `make .venv/.stamp`")
	return ""
}

func TestSharedMemoryOfPythonModel(t *testing.T) {
	t.Parallel()
	python, dir := needsPython(t), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "py", "1"), 0o755))
	config := strings.Replace(servertest.Identity("INT32", "4", 8), `"identity"`, `"python"`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "py", "config.pbtxt"), []byte(config), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "py", "1", "model.py"), []byte(identityPython), 0o644))
	s := sharedServer(t, servertest.Repository(dir), servertest.With(func(o *server.Options) {
		o.BackendSettings = map[string]map[string]string{"python": {"python-executable": python, "start-timeout-seconds": "600"}}
	}))
	for _, p := range []client.Protocol{client.HTTP, client.GRPC} {
		r := newSharedRun(t, s, p, "py")
		r.Data, r.Range = dataFile(t, steps), perf.Range{Start: 4, End: 4, Step: 1}
		_, err := r.run(t.Context())
		require.NoError(t, err)
		r.requireGone(t)
	}
}

// device is a GPU in the memory of this process.
type device struct {
	mu struct {
		sync.Mutex
		blocks map[cuda.Handle]*deviceMemory
	}
}

type deviceMemory struct {
	device *device
	handle cuda.Handle
	mem    []byte
	freed  bool
}

func (d *device) Allocate(on int, size uint64) (cuda.Memory, cuda.Handle, error) {
	if on != 0 || size > 1<<20 {
		return nil, cuda.Handle{}, errors.New("out of memory")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &deviceMemory{device: d, mem: make([]byte, size)}
	m.handle[0] = byte(len(d.mu.blocks) + 1)
	if d.mu.blocks == nil {
		d.mu.blocks = map[cuda.Handle]*deviceMemory{}
	}
	d.mu.blocks[m.handle] = m
	return m, m.handle, nil
}

func (d *device) Open(_ int, h cuda.Handle) (cuda.Memory, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.blocks[h] == nil {
		return nil, errors.New("invalid handle")
	}
	return opened{d.mu.blocks[h]}, nil
}

func (m *deviceMemory) Size() uint64 { return uint64(len(m.mem)) }
func (m *deviceMemory) Read(dst []byte, offset uint64) error {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	copy(dst, m.mem[offset:])
	return nil
}

func (m *deviceMemory) Write(src []byte, offset uint64) error {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	copy(m.mem[offset:], src)
	return nil
}
func (m *deviceMemory) Close() error { m.freed = true; return nil }

// opened is memory that the server has opened.
type opened struct{ *deviceMemory }

func (opened) Close() error { return nil }

func TestCUDASharedMemory(t *testing.T) {
	t.Parallel()
	gpu := &device{}
	s := sharedServer(t, servertest.With(func(o *server.Options) { o.CUDA = gpu }))
	run := func(r *sharedRun, open func() (cuda.Allocator, error)) error {
		r.Memory = perf.CUDAMemory
		_, err := perf.Run(t.Context(), r.Config, perf.Deps{
			Dial: func(context.Context) (perf.Target, error) {
				return perf.Connect(lane.Options{Options: client.Options{Protocol: r.protocol, Address: r.address}})
			},
			Observer: r, OpenGPU: open,
		})
		return err
	}
	for _, p := range []client.Protocol{client.HTTP, client.GRPC} {
		r := newSharedRun(t, s, p, "numbers")
		r.Data, r.Batches = dataFile(t, steps), []int{2}
		require.NoError(t, run(r, func() (cuda.Allocator, error) { return gpu, nil }))
		all, err := r.inspect.CUDAMemory(t.Context(), "")
		require.NoError(t, err)
		require.Empty(t, all)
		r.requireGone(t)
	}
	require.Len(t, gpu.mu.blocks, 12)
	seen := false
	for _, m := range gpu.mu.blocks {
		require.True(t, m.freed)
		seen = seen || bytes.Equal(m.mem[:16], []byte{5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0})
	}
	require.True(t, seen)

	r := newSharedRun(t, s, client.HTTP, "text")
	r.Data.Shapes, r.OutputMemory = map[string][]int64{"INPUT0": {1}}, 2<<20
	require.EqualError(t, run(r, func() (cuda.Allocator, error) { return gpu, nil }),
		"Unable to init infer data manager: unable to allocate memory of 2097152 bytes on gpu: out of memory")
	r = newSharedRun(t, s, client.HTTP, "numbers")
	require.ErrorIs(t, run(r, func() (cuda.Allocator, error) { return nil, cuda.ErrNoDriver }), cuda.ErrNoDriver)
	// Without a GPU in the server its text says so.
	without := sharedServer(t)
	r = newSharedRun(t, without, client.HTTP, "numbers")
	require.ErrorContains(t, run(r, func() (cuda.Allocator, error) { return gpu, nil }), "GPUs not supported")
}
