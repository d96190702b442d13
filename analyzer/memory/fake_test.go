package memory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/analyzer/bench"
	"triton/analyzer/memory"
	"triton/analyzer/memory/meter"
	"triton/pkg/gpu"
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

// world launches fake servers whose memory and speed depend on their configuration
// and load.
type world struct {
	t  *testing.T
	mu struct {
		sync.Mutex
		servers  map[int]*fakeServer // by PID
		launched []int               // instance counts, 0 for the bare server
		loads    []memory.Load
		models   map[string]*inferencepb.ModelConfig
		// exercised are the loads of the exercises.
		exercised []memory.Load
	}
	// base, model and instance are what each takes on the host, in MiB; queued
	// is what each item in flight takes, batch what each item of the batch of a
	// busy instance does.
	base, model, instance, queued, batch uint64
	gpu                                  bool // the model is on the GPU instead
	blind                                bool // the server does not count executions
	limit                                uint64
	// failAt is the count at which a server does not start, dieAt the count at
	// which one ends under load.
	failAt, dieAt int
	exerciseErr   error
	closeErr      error // of servers that have the model
	measure       func(instances int, l memory.Load) (memory.Measurement, error)
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, base: 50, model: 100, instance: 60, queued: 1, batch: 3, limit: 1000 * mib}
	w.mu.servers = make(map[int]*fakeServer)
	w.mu.models = make(map[string]*inferencepb.ModelConfig)
	w.measure = func(instances int, l memory.Load) (memory.Measurement, error) {
		served := min(instances, l.Concurrency, 2)
		return memory.Measurement{
			Requests: 100, Throughput: float64(100 * served), Stable: true,
			P99: time.Duration(l.Concurrency) * 10 * time.Millisecond / time.Duration(served),
		}, nil
	}
	return w
}

func (w *world) deps() memory.Deps {
	return memory.Deps{Launcher: w, Loader: w, Host: w}
}

type fakeServer struct {
	pid       int
	instances int // 0: without the model
	done      chan struct{}
	once      sync.Once
	err       error
	peak      uint64
	counts    []uint64 // executions of the instances
	closed    bool
	closeErr  error
}

func (s *fakeServer) Endpoints() bench.Endpoints {
	return bench.Endpoints{HTTP: fmt.Sprint(s.pid)}
}
func (s *fakeServer) PIDs() []int           { return []int{s.pid} }
func (s *fakeServer) Done() <-chan struct{} { return s.done }
func (s *fakeServer) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

func (s *fakeServer) end(err error) {
	s.once.Do(func() { s.err = err; close(s.done) })
}

func (s *fakeServer) Close() error {
	s.closed = true
	s.end(nil)
	return s.closeErr
}

func (w *world) Launch(ctx context.Context, s bench.Setup) (bench.Server, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &fakeServer{pid: 1000 + len(w.mu.launched), done: make(chan struct{}), peak: w.base}
	if s.Model != "" {
		dir := filepath.Join(s.Repository, s.Model)
		config, err := modelconfig.ReadFile(filepath.Join(dir, modelconfig.FileName))
		require.NoError(w.t, err)
		require.FileExists(w.t, filepath.Join(dir, "1", "model.onnx"))
		f.instances = int(config.GetInstanceGroup()[0].GetCount())
		w.mu.models[s.Model] = config.ModelConfig
		f.closeErr = w.closeErr
		f.peak += w.model + w.instance*uint64(f.instances)
		f.counts = make([]uint64, f.instances)
	}
	w.mu.launched = append(w.mu.launched, f.instances)
	if f.instances > 0 && f.instances == w.failAt {
		return nil, errors.New("out of memory")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w.mu.servers[f.pid] = f
	return f, nil
}

// find returns the server at an address. The caller holds the lock.
func (w *world) find(at bench.Endpoints) *fakeServer {
	for _, s := range w.mu.servers {
		if fmt.Sprint(s.pid) == at.HTTP {
			return s
		}
	}
	w.t.Fatalf("no server at %v", at)
	return nil
}

func (w *world) Measure(ctx context.Context, at bench.Endpoints, _ string, l memory.Load) (memory.Measurement, error) {
	time.Sleep(3 * time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.loads = append(w.mu.loads, l)
	s := w.find(at)
	s.peak = max(s.peak, w.base+w.model+w.instance*uint64(s.instances)+w.queued*uint64(l.Batch*l.Concurrency))
	if s.instances == w.dieAt {
		s.end(errors.New("signal: killed"))
		<-ctx.Done()
		return memory.Measurement{}, ctx.Err()
	}
	return w.measure(s.instances, l)
}

// Exercise takes as long as Measure's figures say.
func (w *world) Exercise(ctx context.Context, at bench.Endpoints, _ string, l memory.Load, requests int) error {
	w.mu.Lock()
	s := w.find(at)
	m, err := w.measure(s.instances, l)
	w.mu.exercised = append(w.mu.exercised, l)
	s.peak = max(s.peak, w.base+w.model+(w.instance+w.batch*uint64(l.Batch))*uint64(s.instances))
	for i := range s.counts {
		s.counts[i] += uint64(requests / s.instances)
	}
	w.mu.Unlock()
	if err == nil {
		time.Sleep(time.Duration(float64(requests) / m.Throughput * float64(time.Second)))
	}
	return errors.Join(err, w.exerciseErr, ctx.Err())
}

func (w *world) Executions(_ context.Context, at bench.Endpoints, _ string) ([]uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blind {
		return nil, errors.New("404 Not Found")
	}
	return w.find(at).counts, nil
}

func (w *world) Processes(pids []int) (meter.Memory, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.mu.servers[pids[0]]
	switch {
	case !ok:
		return meter.Memory{}, errors.New("no such process")
	case w.gpu:
		return meter.Memory{Anonymous: w.base * mib}, nil
	}
	return meter.Memory{Anonymous: (s.peak - 10) * mib, Shared: 10 * mib}, nil
}

func (w *world) Files(int) (uint64, error) { return 90 * mib, nil }

func (w *world) Available() (meter.HostRoom, error) {
	return meter.HostRoom{Bytes: w.limit, Origin: "memory of the test"}, nil
}

func (w *world) CPUTime(...int) (time.Duration, error) { return 0, errors.ErrUnsupported }

func (w *world) Kills() uint64 { return 0 }

func (w *world) Tree(pid int) []int { return []int{pid} }

// closed reports whether every server was closed.
func (w *world) closed() bool {
	for _, s := range w.mu.servers {
		if !s.closed {
			return false
		}
	}
	return true
}

// device is a GPU with 10 GiB, of which other processes use one, for the servers of
// a world.
type device struct {
	w *world
	// hidden: the driver does not report the memory of processes.
	hidden bool
}

var theDevice = gpu.Device{UUID: "GPU-0", Name: "test"}

func (d device) Devices() []gpu.Device { return []gpu.Device{theDevice} }
func (d device) Close() error          { return nil }

func (d device) used() (sum uint64, procs []gpu.Process) {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	for _, s := range d.w.mu.servers {
		if s.instances > 0 && !s.closed {
			bytes := (s.peak - d.w.base) * mib
			sum += bytes
			procs = append(procs, gpu.Process{PID: s.pid, Memory: gpu.Some(bytes)})
		}
	}
	return sum, procs
}

func (d device) Read(gpu.Device) gpu.Reading {
	used, _ := d.used()
	used += 1 << 30
	return gpu.Reading{MemoryTotal: gpu.Some[uint64](10 << 30), MemoryUsed: gpu.Some(used), MemoryFree: gpu.Some(10<<30 - used)}
}

func (d device) Processes(gpu.Device) ([]gpu.Process, error) {
	if d.hidden {
		return nil, errors.New("not allowed")
	}
	_, procs := d.used()
	return procs, nil
}

// repository writes a model with this configuration and returns the folder.
func repository(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "m", "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "1", "model.onnx"), []byte("onnx"), 0o600))
	if config != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "config.pbtxt"), []byte(config), 0o600))
	}
	return dir
}

const plainConfig = `name: "m" backend: "onnxruntime" max_batch_size: 8`

func config(t *testing.T, repository string) memory.Config {
	c := memory.DefaultConfig("m")
	c.Repositories = []string{repository}
	c.Space = memory.Space{Instances: []int{1, 2, 3}, Batches: []int{4, 1}, Concurrencies: []int{1, 2}}
	c.Footprint.Headroom = func(uint64) uint64 { return 0 }
	c.TempDir = t.TempDir()
	return c
}
