package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

// gated is an engine whose loads wait until they are let through.
func gated(o *Options) (began chan string, let chan error) {
	began, let = make(chan string, 10), make(chan error)
	o.Backends["gated"] = oddEngine{load: func(s backend.Spec) error {
		began <- fmt.Sprintf("%s:%d", s.Name, s.Version)
		return <-let
	}}
	return began, let
}

var gatedConfig = strings.Replace(identity, "identity", "gated", 1)

func explicit(o *Options) { o.Control = ControlExplicit }

func touch(t *testing.T, path string) {
	t.Helper()
	later := time.Now().Add(time.Second)
	require.NoError(t, os.Chtimes(path, later, later))
}

func states(r *Repository) string {
	var all []string
	for _, m := range r.Index(false).Models {
		all = append(all, strings.TrimRight(fmt.Sprintf("%s:%s %s %s", m.Name, m.Version, m.State, m.Reason), " "))
	}
	return strings.Join(all, ", ")
}

// TestReload: the old version serves while the new one loads, goes on when that
// fails, and finishes what it has when that succeeds.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": gatedConfig, "m/1/": ""})
	var began chan string
	var let chan error
	r, out, err := open(t, func(o *Options) {
		explicit(o)
		began, let = gated(o)
	}, dir)
	require.NoError(t, err)
	require.True(t, r.Ready(), "nothing is loaded, nothing is missing")
	load := func() chan error {
		done := make(chan error, 1)
		go func() { done <- r.Load(t.Context(), "m", infer.LoadOptions{}) }()
		return done
	}

	done := load()
	require.Equal(t, "m:1", <-began)
	require.Equal(t, "m:1 LOADING", states(r))
	require.False(t, r.Ready(), "a new model is not ready yet")
	_, err = r.Model("m", "1")
	require.EqualError(t, err, "Request for unknown model: 'm' version 1 is not at ready state")
	let <- nil
	require.NoError(t, <-done)
	require.Equal(t, "m:1 READY", states(r))

	require.NoError(t, <-load(), "nothing was changed")
	require.Empty(t, began)

	touch(t, filepath.Join(dir, "m/1"))
	done = load()
	<-began
	require.Equal(t, "m:1 READY", states(r))
	require.True(t, r.Ready())
	old, err := r.Model("m", "")
	require.NoError(t, err)
	let <- errors.New("broken file")
	require.EqualError(t, <-done, "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: broken file;\n")
	require.Equal(t, "m:1 READY", states(r))
	same, err := r.Model("m", "")
	require.NoError(t, err)
	require.Same(t, old.(*newest).version, same.(*newest).version)
	same.Release()

	done = load()
	<-began
	let <- nil
	require.NoError(t, <-done, "a failed load is tried again")
	fresh, err := r.Model("m", "1")
	require.NoError(t, err)
	require.NotSame(t, old.(*newest).version, fresh)
	fresh.Release()
	resp, err := inferOnce(t, old)
	require.NoError(t, err, "who has the old version may use it")
	resp.Release()
	require.NotContains(t, out.messages(), "successfully unloaded")
	old.Release()
	settle(t, r)
	require.Contains(t, out.messages(), "successfully unloaded 'm' version 1")
	require.Equal(t, "m:1 READY", states(r))
}

func TestUnloadWaitsForRequests(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": identity, "m/1/": ""})
	r, out, err := open(t, func(o *Options) {
		explicit(o)
		o.Startup = []string{"m"}
	}, dir)
	require.NoError(t, err)
	m, err := r.Model("m", "")
	require.NoError(t, err)
	require.NoError(t, r.Unload(t.Context(), "m", false))
	require.Equal(t, "m:1 UNLOADING", states(r))
	require.False(t, r.Ready())
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{}), "it may be loaded again at once")
	require.Equal(t, "m:1 READY", states(r))
	resp, err := inferOnce(t, m)
	require.NoError(t, err)
	resp.Release()
	m.Release()
	settle(t, r)
	require.Equal(t, "m:1 READY", states(r), "the end of the old one is not that of the new one")
	require.Contains(t, out.messages(), "successfully unloaded 'm' version 1")
}

// TestConflicts: calls for the same model wait for each other, those for
// others do not.
func TestConflicts(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": gatedConfig, "m/1/": "", "n/config.pbtxt": identity, "n/1/": ""})
	var began chan string
	var let chan error
	r, _, err := open(t, func(o *Options) {
		explicit(o)
		began, let = gated(o)
	}, dir)
	require.NoError(t, err)
	done := make(chan error, 2)
	go func() { done <- r.Load(t.Context(), "m", infer.LoadOptions{}) }()
	<-began
	require.NoError(t, r.Load(t.Context(), "n", infer.LoadOptions{}))
	require.NoError(t, r.Unload(t.Context(), "n", false))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, status.Cancelled, status.CodeOf(r.Unload(gone, "m", false)), "who waits may leave")
	go func() { done <- r.Unload(t.Context(), "m", false) }()
	let <- nil
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	settle(t, r)
	require.Equal(t, "m:1 UNAVAILABLE unloaded, n:1 UNAVAILABLE unloaded", states(r))
}

// TestDrainDuringLoad: what is still loaded at the end is closed.
func TestDrainDuringLoad(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": gatedConfig, "m/1/": "", "n/config.pbtxt": gatedConfig, "n/1/": ""})
	var began chan string
	var let chan error
	r, _, err := open(t, func(o *Options) {
		explicit(o)
		o.LoadThreads = 1
		began, let = gated(o)
	}, dir)
	require.NoError(t, err)
	loaded := make(chan error, 2)
	for _, name := range []string{"m", "n"} {
		go func() { loaded <- r.Load(t.Context(), name, infer.LoadOptions{}) }()
	}
	<-began // the other waits for its place
	short, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, r.Drain(short), "models are still being loaded")
	require.Equal(t, status.Unavailable, status.CodeOf(r.Load(t.Context(), "m", infer.LoadOptions{})))
	require.EqualError(t, r.Unload(t.Context(), "m", false), "Server not ready")
	let <- nil
	<-loaded
	<-loaded
	require.NoError(t, r.Drain(t.Context()))
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Empty(t, r.retiring)
}

// TestPollIsLeft: an engine that does not see the end holds nobody up.
func TestPollIsLeft(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"n/config.pbtxt": identity, "n/1/": ""})
	var began chan string
	var let chan error
	r, _, err := open(t, func(o *Options) {
		o.Control = ControlPoll
		began, let = gated(o)
	}, dir)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "m/1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m/config.pbtxt"), []byte(gatedConfig), 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Poll(ctx) }()
	<-began
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.ErrorContains(t, r.Drain(ctx), "models are still being loaded")
	let <- nil
	require.NoError(t, r.Drain(t.Context()))
}

// TestRegroup: other instances only, the engine and the counters go on.
func TestRegroup(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": strings.Replace(identity, "identity", "odd", 1), "m/1/": ""})
	var engines, instances atomic.Int32
	r, out, err := open(t, func(o *Options) {
		explicit(o)
		o.Startup = []string{"*"}
		o.Backends["odd"] = oddEngine{
			load:     func(backend.Spec) error { engines.Add(1); return nil },
			instance: func(backend.Spec) error { instances.Add(1); return nil },
		}
	}, dir)
	require.NoError(t, err)
	m, err := r.Model("m", "")
	require.NoError(t, err)
	resp, err := inferOnce(t, m)
	require.NoError(t, err)
	resp.Release()
	m.Release()
	three := `{"backend":"odd","input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}],` +
		`"instance_group":[{"count":3}]}`
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &three}))
	require.EqualValues(t, 1, engines.Load())
	require.EqualValues(t, 4, instances.Load())
	settle(t, r)
	require.NotContains(t, out.messages(), "unloaded")
	s, err := r.Statistics("m", "")
	require.NoError(t, err)
	require.EqualValues(t, 1, s.ModelStats[0].InferenceCount)
	m, err = r.Model("m", "")
	require.NoError(t, err)
	defer m.Release()
	require.EqualValues(t, 3, m.Config().GetInstanceGroup()[0].GetCount())
}

// TestPathGone: that a path cannot be read is no reason to unload its models.
func TestPathGone(t *testing.T) {
	t.Parallel()
	one := tree(t, map[string]string{"a/config.pbtxt": identity, "a/1/": ""})
	two := tree(t, map[string]string{"b/config.pbtxt": identity, "b/1/": ""})
	r, _, err := open(t, func(o *Options) { o.Control = ControlPoll }, one, two)
	require.NoError(t, err)
	require.NoError(t, os.Rename(two, two+"x"))
	require.ErrorContains(t, r.Poll(t.Context()), "reading model repository: ")
	require.Equal(t, "a:1 READY", states(r))
	m, err := r.Model("b", "")
	require.NoError(t, err)
	m.Release()
	require.NoError(t, os.Rename(two+"x", two))
	require.NoError(t, r.Poll(t.Context()))
	require.Equal(t, "a:1 READY, b:1 READY", states(r))
	require.NoError(t, os.RemoveAll(filepath.Join(two, "b")))
	require.NoError(t, r.Poll(t.Context()))
	settle(t, r)
	_, err = r.Model("b", "")
	require.EqualError(t, err, "Request for unknown model: 'b' has no available versions")
}

// TestPollElsewhere: only a server that was told to may be made to poll.
func TestPollElsewhere(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, nil, tree(t, map[string]string{"a/": ""}))
	require.ErrorIs(t, err, ErrLoad)
	require.EqualError(t, r.Poll(t.Context()), "polling is disabled")
	require.EqualError(t, r.Load(t.Context(), "a", infer.LoadOptions{}), "explicit model load / unload is not allowed if polling is enabled")
	require.EqualError(t, r.Unload(t.Context(), "a", false), "explicit model load / unload is not allowed if polling is enabled")
}

// TestFilesWithTheSameConfiguration: new files are loaded even when nothing
// else is new.
func TestFilesWithTheSameConfiguration(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, func(o *Options) {
		explicit(o)
		o.Backends["python"] = python{}
	}, tree(t, map[string]string{"m/config.pbtxt": pythonConfig, "m/1/model.py": "model"}))
	require.NoError(t, err)
	config := `{"backend":"python","input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}]}`
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &config}))
	err = r.Load(t.Context(), "m", infer.LoadOptions{Config: &config, Files: map[string][]byte{"file:1/model.py": []byte("x")}})
	require.ErrorContains(t, err, "NameError: name 'x' is not defined")
	require.Equal(t, "m:1 READY", states(r))
	left, err := filepath.Glob(filepath.Join(r.scratch.base, "*"))
	require.NoError(t, err)
	require.Empty(t, left, "files that do not serve are removed")
}

func TestGPULimit(t *testing.T) {
	t.Parallel()
	on := identity + "instance_group { kind: KIND_GPU gpus: [ 1 ] }"
	dir := tree(t, map[string]string{"m/config.pbtxt": on, "m/1/": "", "n/config.pbtxt": identity, "n/1/": ""})
	used := 0.5
	r, _, err := open(t, func(o *Options) {
		explicit(o)
		o.Machine.GPUs = []int32{0, 1}
		o.GPULimits = map[int]float64{1: 0.4}
		o.GPUUsage = func(device int) (float64, error) {
			require.Equal(t, 1, device)
			return used, nil
		}
	}, dir)
	require.NoError(t, err)
	require.NoError(t, r.Load(t.Context(), "n", infer.LoadOptions{}))
	err = r.Load(t.Context(), "m", infer.LoadOptions{})
	require.ErrorContains(t, err, "can not create model 'm_0_0': memory limit set for GPU 1 has exceeded, model loading is rejected.;")
	used = 0.4
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{}))
}

// TestControlUnderLoad loads, unloads, looks up, asks and polls at the same
// time. Whoever gets a model can use it; in the end nothing is left.
func TestControlUnderLoad(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/config.pbtxt": identity, "a/1/f": "", "b/config.pbtxt": identity, "b/1/f": "",
		"bad/config.pbtxt": strings.Replace(identity, "identity", "fault", 1) + `parameters { key: "load_error" value { string_value: "no luck" } }`, "bad/1/": "",
	})
	for _, mode := range []Control{ControlExplicit, ControlPoll} {
		r, _, _ := open(t, func(o *Options) {
			o.Control = mode
			o.LoadThreads = 4
		}, dir)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		loop := func(step func(i int)) {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
						step(i)
					}
				}
			})
		}
		var answered atomic.Int64
		for range 2 {
			loop(func(i int) {
				m, err := r.Model([]string{"a", "b", "bad"}[i%3], "")
				if err != nil {
					return
				}
				resp, err := inferOnce(t, m)
				m.Release()
				if err != nil {
					t.Errorf("infer: %v", err)
					return
				}
				resp.Release()
				answered.Add(1)
			})
		}
		loop(func(int) {
			r.Index(false)
			r.Ready()
			r.Served()
			_, _ = r.Statistics("", "")
		})
		rounds := make(chan struct{}, 100)
		config := `{"backend":"identity","input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}]}`
		for _, name := range []string{"a", "b", "bad", "a"} {
			loop(func(i int) {
				var err error
				switch {
				case mode == ControlPoll && i%2 == 0:
					_ = os.WriteFile(filepath.Join(dir, "a/1/f"), fmt.Append(nil, i), 0o600)
					err = r.Poll(t.Context())
				case mode == ControlPoll:
					err = r.Poll(t.Context())
				case i%4 == 3:
					err = r.Unload(t.Context(), name, false)
				case i%4 == 2:
					err = r.Load(t.Context(), name, infer.LoadOptions{Config: &config, Files: map[string][]byte{"file:1/f": []byte("x")}})
				default:
					err = r.Load(t.Context(), name, infer.LoadOptions{Config: &config})
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				select {
				case rounds <- struct{}{}:
				default:
				}
			})
		}
		for range cap(rounds) {
			<-rounds
		}
		require.Eventually(t, func() bool { return answered.Load() > 100 }, 30*time.Second, time.Millisecond)
		close(stop)
		wg.Wait()
		require.NoError(t, r.Drain(t.Context()))
		require.Empty(t, r.scratch.base)
	}
}
