package isolated_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/backend/isolated"
	"triton/server/backend/isolated/host"
	"triton/server/backend/onnx"
	"triton/server/hostpolicy"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

// inChild is the first argument of this program when it runs one model of a test.
const inChild = "isolated-model"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == inChild {
		if err := host.Main(os.Args[2], os.Environ(), backends()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// backends are those of the children.
func backends() backend.Set {
	all := backend.Set{
		"identity": builtin.Identity{}, "repeat": builtin.Repeat{}, "fault": builtin.Fault{},
		"onnxruntime": onnx.New(search()),
	}
	all["whereabouts"] = whereabouts{}
	maps.Copy(all, mortals)
	return all
}

func search() onnx.Search {
	return onnx.Search{Getenv: os.Getenv, Directory: filepath.Join("..", "..", "..")}
}

// rig is a server's part around one isolated model.
type rig struct {
	testing.TB
	isolation *isolated.Isolation
	pool      *tensor.Pool // shareable
	config    *inferencepb.ModelConfig
	limits    extension.Process
	instances int
	dir, file string
	policy    hostpolicy.Policy
	log       *logged
	stats     *stats.Model
	model     backend.Model
	group     *instance.Group
}

// logged keeps a log.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// memfd returns a pool that children can map.
func memfd(t testing.TB) *tensor.Pool {
	t.Helper()
	source, err := tensor.NewMemfd()
	if err != nil {
		t.Skip(err)
	}
	return tensor.NewPoolOf(tensor.PoolOptions{Source: source})
}

func newRig(t testing.TB, backendName string) *rig {
	t.Helper()
	io := func(n string) (*inferencepb.ModelInput, *inferencepb.ModelOutput) {
		return &inferencepb.ModelInput{Name: "INPUT" + n, DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{-1}},
			&inferencepb.ModelOutput{Name: "OUTPUT" + n, DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{-1}}
	}
	in, out := io("0")
	x := &rig{
		TB: t, pool: memfd(t), log: &logged{}, instances: 1,
		config: &inferencepb.ModelConfig{
			Name: "m", Backend: backendName, Input: []*inferencepb.ModelInput{in}, Output: []*inferencepb.ModelOutput{out},
			Parameters: map[string]*inferencepb.ModelParameter{},
		},
	}
	x.isolation = isolated.New(isolated.Options{Program: []string{"/proc/self/exe", inChild}, Pool: x.pool})
	return x
}

// load loads the model without instances.
func (x *rig) load() error {
	b, err := x.isolation.Wrap(x.config.GetBackend(), x.limits)
	if err != nil {
		return err
	}
	x.model, err = b.Load(x.Context(), x.spec())
	return err
}

func (x *rig) spec() backend.Spec {
	return backend.Spec{
		Name: "m", Version: 1, Config: x.config, Pool: x.pool, CPUs: 2, Dir: x.dir, File: x.file,
		Log: slog.New(slog.NewTextHandler(x.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// start loads the model and starts its instances. The end of the test looks for what is left.
func (x *rig) start() *rig {
	x.Helper()
	require.NoError(x, x.load())
	x.stats = stats.NewModel("m", "1", 1)
	source, slots := scheduler.NewQueue(scheduler.Options{Policy: scheduler.NoBatching{}, Slots: x.instances, Stats: x.stats})
	var places []backend.Placement
	for i := range x.instances {
		places = append(places, backend.Placement{
			Name: fmt.Sprintf("m_%d", i), Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Instances: x.instances, Group: &inferencepb.ModelInstanceGroup{},
			HostPolicy: x.policy,
		})
	}
	x.group = instance.New(instance.Options{
		Name: "m", Version: "1", Config: x.config, Model: x.model, Placements: places, Source: source, Slots: slots, Stats: x.stats,
		Log: slog.New(slog.NewTextHandler(x.log, nil)),
	})
	require.NoError(x, x.group.Start(x.Context()))
	x.Cleanup(func() {
		require.NoError(x, x.group.Drain(context.Background()))
		require.Zero(x, x.pool.Outstanding(), "pieces of memory")
	})
	return x
}

// request has an INPUT0 of n numbers that begins with v.
func (x *rig) request(id string, n int, v int32) *infer.Request {
	r := infer.NewRequest()
	r.Pool, r.ID, r.ModelName, r.ModelVersion = x.pool, id, "m", "1"
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "INPUT0", tensor.Int32, append(in.Shape[:0], int64(n))
	b := x.pool.Get(4 * n)
	for i := range n {
		binary.NativeEndian.PutUint32(b.Bytes()[4*i:], uint32(v)+uint32(i))
	}
	in.Data = tensor.NewData(b)
	return r
}

// call runs a request and returns the first number of OUTPUT0.
func (x *rig) call(id string, n int, v int32) (int32, error) {
	r := x.request(id, n, v)
	defer r.Release()
	resp, err := x.group.Infer(x.Context(), r)
	if err != nil {
		return 0, err
	}
	defer resp.Release()
	if resp.Err != nil {
		return 0, resp.Err
	}
	out := resp.Output("OUTPUT0")
	if out == nil || out.Data.Len() != 4*n {
		return 0, fmt.Errorf("a response without %d numbers", n)
	}
	mem, _ := out.Data.Contiguous()
	for i := range n {
		if got := binary.NativeEndian.Uint32(mem[4*i:]); got != uint32(v)+uint32(i) {
			return 0, fmt.Errorf("number %d is %d", i, got)
		}
	}
	return int32(binary.NativeEndian.Uint32(mem)), nil
}

// again waits until the model serves.
func (x *rig) again() {
	x.Helper()
	require.Eventually(x, func() bool { _, err := x.call("", 1, 7); return err == nil }, waitFor, tick)
}

// How long and how often tests look for something that happens soon.
const (
	waitFor = time.Minute
	tick    = 5 * time.Millisecond
)
