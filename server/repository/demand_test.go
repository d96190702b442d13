package repository

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/backend/builtin"
	"triton/server/infer"
	"triton/server/repository/ondemand"
)

// demandRoom is the budget of these tests, each of whose models has files of 1 MiB: two fit.
const demandRoom = 5 << 19

// onDemand returns the options for models on demand, and a count of the loads of each model.
func onDemand(loads *sync.Map, change func(o *Options)) func(*Options) {
	return func(o *Options) {
		o.Control = ControlAuto
		o.Demand = Demand{Budget: ondemand.Bytes{ondemand.Host: demandRoom}, KeepAlive: -1, Timeout: 10 * time.Second, MaxWaiting: 2000}
		o.Backends = backend.Set{"identity": backendtest.Loading(func(s backend.Spec) error {
			n, _ := loads.LoadOrStore(s.Name, &atomic.Int64{})
			n.(*atomic.Int64).Add(1)
			if s.Config.GetParameters()["fail_load"] != nil {
				return status.New(status.Internal, "no luck")
			}
			return nil
		}), "sequence": builtin.Sequence{}}
		if change != nil {
			change(o)
		}
	}
}

func loadsOf(loads *sync.Map, name string) int64 {
	n, ok := loads.Load(name)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

// demandTree is a repository of models with files of 1 MiB. The texts follow the configurations.
func demandTree(t *testing.T, models map[string]string) string {
	files := map[string]string{}
	for name, more := range models {
		files[name+"/config.pbtxt"] = identity + more
		files[name+"/1/weights"] = strings.Repeat("x", 1<<20)
	}
	return tree(t, files)
}

// request finds a model as a frontend does, and runs a request.
func request(t *testing.T, r *Repository, name string) error {
	t.Helper()
	m, err := infer.Acquire(t.Context(), r, name, "")
	if err != nil {
		return err
	}
	defer m.Release()
	resp, err := inferOnce(t, m)
	if err != nil {
		return err
	}
	resp.Release()
	return nil
}

func loadedNames(r *Repository) string {
	var all []string
	for _, l := range (&demandModels{r}).Loaded() {
		all = append(all, l.Name)
	}
	return strings.Join(all, " ")
}

func indexOf(r *Repository) string {
	var all []string
	for _, m := range r.Index(false).GetModels() {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", m.GetName(), m.GetVersion(), m.GetState(), m.GetReason())))
	}
	return strings.Join(all, "\n")
}

// TestFirstRequestLoads: 1,000 requests at once make one load; the others answer from then on.
func TestFirstRequestLoads(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	r, _, err := open(t, onDemand(&loads, nil), demandTree(t, map[string]string{"a": "", "b": "", "c": ""}))
	require.NoError(t, err)
	require.True(t, r.Ready())
	require.Equal(t, "a  UNAVAILABLE not loaded: the first request loads it\n"+
		"b  UNAVAILABLE not loaded: the first request loads it\nc  UNAVAILABLE not loaded: the first request loads it", indexOf(r))
	require.Empty(t, r.Index(true).GetModels())
	ready, err := r.ModelReady("a", "")
	require.NoError(t, err)
	require.True(t, ready, "a request would load it")
	for _, wrong := range []string{"unknown/", "a/2"} {
		name, version, _ := strings.Cut(wrong, "/")
		ready, err = r.ModelReady(name, version)
		require.NoError(t, err)
		require.False(t, ready, wrong)
	}
	require.Zero(t, loadsOf(&loads, "a"))

	var wg sync.WaitGroup
	errs := make(chan error, 1000)
	for range 1000 {
		wg.Go(func() { errs <- request(t, r, "a") })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, loadsOf(&loads, "a"))
	require.Equal(t, "a", loadedNames(r))

	_, err = infer.Acquire(t.Context(), r, "unknown", "")
	require.EqualError(t, err, "Request for unknown model: 'unknown' is not found")
	_, err = infer.Acquire(t.Context(), r, "b", "7")
	require.EqualError(t, err, "Request for unknown model: 'b' version 7 is not found")
}

// TestMakeRoom: models are unloaded for others, but not while they work, and with the reason in
// the index.
func TestMakeRoom(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	r, _, err := open(t, onDemand(&loads, func(o *Options) { o.Demand.Timeout = 300 * time.Millisecond }),
		demandTree(t, map[string]string{"a": "", "b": "", "c": "", "d": ""}))
	require.NoError(t, err)
	require.NoError(t, request(t, r, "a"))
	for range 100 { // more than a slower load can weigh
		require.NoError(t, request(t, r, "b"))
	}
	require.NoError(t, request(t, r, "c"))
	require.Equal(t, "b c", loadedNames(r))
	require.Contains(t, indexOf(r), "a 1 UNAVAILABLE unloaded: its memory was needed for model 'c'; the next request loads it")

	held, err := infer.Acquire(t.Context(), r, "b", "")
	require.NoError(t, err)
	other, err := infer.Acquire(t.Context(), r, "c", "")
	require.NoError(t, err)
	err = request(t, r, "d")
	require.EqualError(t, err, "model 'd' was not loaded within 300ms (--auto-load-timeout-secs): it needs 1.1 MiB, the memory budget is 2.5 MiB (--memory-budget), in use: b (1.1 MiB, works), c (1.1 MiB, works)")
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	require.Equal(t, "b c", loadedNames(r))
	done := make(chan error, 1)
	go func() { done <- request(t, r, "d") }()
	other.Release()
	require.NoError(t, <-done)
	require.Equal(t, "b d", loadedNames(r))
	held.Release()
	counts := r.Demand()
	require.EqualValues(t, 2, counts.Evictions[ondemand.Pressure])
	require.EqualValues(t, 4, counts.Loads)
	require.EqualValues(t, 1, counts.Expired)
	require.Zero(t, counts.Waiting)
}

// TestTooLarge: a load for which there will never be memory fails at once, and names what holds it.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	dir := demandTree(t, map[string]string{"large": "", "small": "", "pinned": `parameters { key: "on_demand_pin" value { string_value: "true" } }`})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "large/1/more"), make([]byte, 1<<20), 0o600))
	r, _, err := open(t, onDemand(&loads, nil), dir)
	require.NoError(t, err)
	require.Equal(t, "pinned", loadedNames(r))
	require.EqualError(t, request(t, r, "large"),
		"model 'large' needs 2.1 MiB, and the memory budget is 2.5 MiB (--memory-budget); in use for good: pinned (1.1 MiB, pinned)")
	require.NoError(t, request(t, r, "small"))
	require.Equal(t, "pinned small", loadedNames(r))
	require.True(t, r.Ready())
}

// TestFailedLoad: all requests get the reason. The load is not tried again at once, but when the
// files have changed.
func TestFailedLoad(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	dir := demandTree(t, map[string]string{"a": `parameters { key: "fail_load" value { string_value: "1" } }`})
	r, _, err := open(t, onDemand(&loads, func(o *Options) { o.Demand.RetryDelay = time.Minute }), dir)
	require.NoError(t, err)
	for range 3 {
		err = request(t, r, "a")
		require.ErrorContains(t, err, "load failed for model 'a': version 1 is at UNAVAILABLE state: Internal: no luck (the next")
		require.ErrorContains(t, err, "(the next attempt is in ")
		require.Equal(t, status.Unavailable, status.CodeOf(err))
	}
	require.EqualValues(t, 1, loadsOf(&loads, "a"))
	ready, err := r.ModelReady("a", "")
	require.NoError(t, err)
	require.False(t, ready)
	require.True(t, r.Ready(), "a model that no one needs does not make the server unready")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a/config.pbtxt"), []byte(identity), 0o600))
	require.Eventually(t, func() bool { return request(t, r, "a") == nil }, time.Minute, 10*time.Millisecond)
	require.EqualValues(t, 2, loadsOf(&loads, "a"))
}

// TestWaitEnds: the end of the request's context ends its wait, not the load.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	block := make(chan struct{})
	r, _, err := open(t, onDemand(&loads, func(o *Options) {
		o.Backends = backend.Set{"identity": backendtest.Loading(func(backend.Spec) error { <-block; return nil })}
		o.Demand.MaxWaiting = 2
	}), demandTree(t, map[string]string{"a": ""}))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := infer.Acquire(ctx, r, "a", "")
		ended <- err
	}()
	patient := make(chan error, 1)
	go func() { patient <- request(t, r, "a") }()
	require.Eventually(t, func() bool { return r.Demand().Waiting == 2 }, time.Minute, time.Millisecond)
	require.EqualError(t, request(t, r, "a"), "model 'a' is not loaded, and 2 requests wait for loads already (--auto-load-max-waiting)")
	cancel()
	err = <-ended
	require.Equal(t, status.Cancelled, status.CodeOf(err))
	late, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err = infer.Acquire(late, r, "a", "")
	require.EqualError(t, err, "model 'a' was not loaded within the deadline of the request: its load takes longer")
	close(block)
	require.NoError(t, <-patient)
}

// TestDescribeUnloaded: metadata and configuration come from the files; a model whose configuration
// leaves inputs to the backend is loaded.
func TestDescribeUnloaded(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	dir := demandTree(t, map[string]string{"a": ""})
	r, _, err := open(t, onDemand(&loads, nil), dir)
	require.NoError(t, err)
	d, err := infer.Describe(t.Context(), r, "a", "")
	require.NoError(t, err)
	unloaded := []any{d.Config(), d.Metadata().String()}
	require.Equal(t, "1", d.Version())
	d.Release()
	require.Zero(t, loadsOf(&loads, "a"))
	require.NoError(t, request(t, r, "a"))
	d, err = infer.Describe(t.Context(), r, "a", "1")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(unloaded[0]), fmt.Sprint(d.Config()), "the same as of the loaded model")
	require.Equal(t, unloaded[1], d.Metadata().String())
	d.Release()
	_, err = infer.Describe(t.Context(), r, "unknown", "")
	require.EqualError(t, err, "Request for unknown model: 'unknown' is not found")
	require.NoError(t, r.Unload(t.Context(), "a", false))
	_, err = infer.Describe(t.Context(), r, "a", "9")
	require.EqualError(t, err, "Request for unknown model: 'a' version 9 is not found")
}

// TestControlOnDemand: clients load and unload too. A configuration that came with a load is used
// when a request loads the model again; a model whose files came with a load stays.
func TestControlOnDemand(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	r, _, err := open(t, onDemand(&loads, nil), demandTree(t, map[string]string{"a": "", "b": "", "c": ""}))
	require.NoError(t, err)
	config := `{"backend":"identity","max_batch_size":3,"input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}]}`
	require.NoError(t, r.Load(t.Context(), "a", infer.LoadOptions{Config: &config}))
	require.NoError(t, r.Load(t.Context(), "b", infer.LoadOptions{}))
	for range 100 {
		require.NoError(t, request(t, r, "b"))
	}
	require.NoError(t, request(t, r, "c"))
	require.Equal(t, "b c", loadedNames(r))
	m, err := infer.Acquire(t.Context(), r, "a", "")
	require.NoError(t, err)
	require.EqualValues(t, 3, m.Config().GetMaxBatchSize())
	m.Release()
	require.NoError(t, r.Unload(t.Context(), "a", false))
	require.Eventually(t, func() bool {
		return strings.Contains(indexOf(r), "a 1 UNAVAILABLE not loaded: the first request loads it")
	}, time.Minute, time.Millisecond)

	uploaded := strings.Replace(config, `{`, `{"name":"up",`, 1)
	require.NoError(t, r.Load(t.Context(), "up", infer.LoadOptions{Config: &uploaded, Files: map[string][]byte{"file:1/x": []byte("x")}}))
	for _, name := range []string{"a", "b", "c", "a", "b", "c"} {
		require.NoError(t, request(t, r, name))
	}
	require.Contains(t, loadedNames(r), "up")
	require.NoError(t, r.Poll(t.Context()))
	require.NotContains(t, loadedNames(r), "up", "the store does not have it")
}

// TestEnsembleOnDemand: an ensemble is loaded with its steps, which stay as long as it works.
func TestEnsembleOnDemand(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	files := map[string]string{"e/config.pbtxt": chainOf("a", "b"), "e/1/": ""}
	dir := demandTree(t, map[string]string{"a": "", "b": "", "c": ""})
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if text != "" {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		} else {
			require.NoError(t, os.MkdirAll(path, 0o755))
		}
	}
	r, _, err := open(t, onDemand(&loads, func(o *Options) { o.Demand.Timeout = 200 * time.Millisecond }), dir)
	require.NoError(t, err)
	require.NoError(t, request(t, r, "e"))
	require.Equal(t, "a b e", loadedNames(r))
	held, err := infer.Acquire(t.Context(), r, "e", "")
	require.NoError(t, err)
	require.ErrorContains(t, request(t, r, "c"), "in use: a (1.1 MiB, in use by an ensemble or a load), b (1.1 MiB, in use by an ensemble or a load)")
	held.Release()
	require.NoError(t, request(t, r, "c"))
	require.Equal(t, 2, len(strings.Fields(loadedNames(r))), "the ensemble went with its step: %s", loadedNames(r))
	require.NotContains(t, loadedNames(r), "e")
	require.NoError(t, request(t, r, "e"))
	require.Equal(t, "a b e", loadedNames(r))
}

func chainOf(first, second string) string {
	return fmt.Sprintf(`platform: "ensemble"
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
ensemble_scheduling {
  step { model_name: "%s" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "middle" } }
  step { model_name: "%s" model_version: -1 input_map { key: "INPUT0" value: "middle" } output_map { key: "OUTPUT0" value: "OUTPUT0" } }
}
`, first, second)
}

// TestKeepAlive: an idle model is unloaded when its time is over, also without need.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	r, _, err := open(t, onDemand(&loads, nil), demandTree(t, map[string]string{
		"a": `parameters { key: "on_demand_keep_alive_seconds" value { string_value: "0" } }`, "b": "",
	}))
	require.NoError(t, err)
	require.NoError(t, request(t, r, "b"))
	m, err := infer.Acquire(t.Context(), r, "a", "")
	require.NoError(t, err)
	time.Sleep(3 * minSweepForTest)
	require.Equal(t, "a b", loadedNames(r), "a works")
	m.Release()
	require.Eventually(t, func() bool { return loadedNames(r) == "b" }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		return strings.Contains(indexOf(r), "unloaded: it was idle for its keep-alive time; the next request loads it")
	}, time.Minute, time.Millisecond)
	require.NoError(t, request(t, r, "a"))
}

const minSweepForTest = 20 * time.Millisecond

// TestPollOnDemand: a poll loads changed files of loaded models, and nothing else.
func TestPollOnDemand(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	dir := demandTree(t, map[string]string{"a": "", "b": ""})
	r, _, err := open(t, onDemand(&loads, nil), dir)
	require.NoError(t, err)
	require.NoError(t, request(t, r, "a"))
	require.NoError(t, r.Poll(t.Context()))
	require.EqualValues(t, 1, loadsOf(&loads, "a"))
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "1/weights"), []byte("new"), 0o600))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "new/1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new/config.pbtxt"), []byte(identity), 0o600))
	require.NoError(t, r.Poll(t.Context()))
	require.EqualValues(t, 2, loadsOf(&loads, "a"))
	require.Zero(t, loadsOf(&loads, "b"))
	require.NoError(t, request(t, r, "new"))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "new")))
	require.NoError(t, r.Poll(t.Context()))
	require.Equal(t, "a", loadedNames(r))
}

// TestSequencesStay: a model with open sequences is not unloaded.
func TestSequencesStay(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	dir := demandTree(t, map[string]string{"a": "", "b": ""})
	config := `backend: "sequence" max_batch_size: 1
sequence_batching {
  max_sequence_idle_microseconds: 600000000
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
}
input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }
`
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "s/1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s/config.pbtxt"), []byte(config), 0o600))
	r, _, err := open(t, onDemand(&loads, nil), dir)
	require.NoError(t, err)
	step := func(start, end bool) {
		m, err := infer.Acquire(t.Context(), r, "s", "")
		require.NoError(t, err)
		defer m.Release()
		q := infer.NewRequest()
		defer q.Release()
		q.SequenceID, q.SequenceStart, q.SequenceEnd = 7, start, end
		x := q.AddInput()
		x.Name, x.DataType, x.Shape = "INPUT", tensor.Int32, append(x.Shape, 1, 1)
		x.Data = tensor.SliceData(tensor.HeapBuffer(make([]byte, 4)), 0, 4)
		resp, err := m.Infer(t.Context(), q)
		require.NoError(t, err)
		resp.Release()
	}
	step(true, false)
	_, unloaded := (&demandModels{r}).Unload("s")
	require.False(t, unloaded, "a sequence is open")
	require.NoError(t, request(t, r, "a"))
	require.NoError(t, request(t, r, "b"))
	require.Contains(t, loadedNames(r), "s")
	step(false, true)
	var pending func() bool
	require.Eventually(t, func() bool {
		pending, unloaded = (&demandModels{r}).Unload("s")
		return unloaded
	}, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return !pending() }, time.Minute, time.Millisecond)
}

// TestCallsOnDemand: a model that another one calls is loaded for the call, with the end of the call's
// context as the limit.
func TestCallsOnDemand(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"", "post"} {
		var loads sync.Map
		dir := demandTree(t, map[string]string{"callee": ""})
		for name, target := range map[string]string{"caller": "callee", "lost": "none"} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(relayTo(target, "", way)), 0o600))
		}
		r, _, err := open(t, onDemand(&loads, func(o *Options) { o.Backends["relay"] = relay{} }), dir)
		require.NoError(t, err)
		require.NoError(t, request(t, r, "caller"))
		require.Equal(t, "callee caller", loadedNames(r))
		require.EqualError(t, request(t, r, "lost"), "Request for unknown model: 'none' is not found")
	}
}

// TestDemandStress runs requests, loads and unloads of clients and polls at random on a budget for
// two of eight models. No request fails for want of a model.
func TestDemandStress(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	models := map[string]string{}
	for i := range 8 {
		models[fmt.Sprint("m", i)] = ""
	}
	r, _, err := open(t, onDemand(&loads, func(o *Options) { o.Demand.Timeout = time.Minute }), demandTree(t, models))
	require.NoError(t, err)
	names := slices.Sorted(maps.Keys(models))
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	for worker := range 6 {
		wg.Go(func() {
			random := newRandom(t, worker)
			for range 60 {
				name := names[random.IntN(len(names))]
				var err error
				switch {
				case worker == 0 && random.IntN(4) == 0:
					err = r.Load(t.Context(), name, infer.LoadOptions{})
				case worker == 1 && random.IntN(4) == 0:
					err = r.Poll(t.Context())
				default:
					err = request(t, r, name)
				}
				if err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		require.NoError(t, *err)
	}
	c := r.Demand()
	t.Logf("%d loads, %v evictions, %d loads of models evicted shortly before", c.Loads, c.Evictions, c.ThrashLoads)
	require.Zero(t, c.Waiting)
	require.Zero(t, c.Queued)
	require.LessOrEqual(t, c.Allocated[ondemand.Host], int64(demandRoom))
	require.NotZero(t, c.ThrashLoads)
	require.True(t, c.Thrashing)
}

func newRandom(t *testing.T, worker int) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(15, uint64(worker)))
}
