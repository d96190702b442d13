package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/repository/state"
)

// gated is a backend whose loads wait until they are let through.
func gated(o *Options) (began chan string, let chan error) {
	began, let = make(chan string, 10), make(chan error)
	o.Backends["gated"] = backendtest.Loading(func(s backend.Spec) error {
		began <- fmt.Sprintf("%s:%d", s.Name, s.Version)
		return <-let
	})
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

// TestReload: the old version serves while the new one loads. It continues if the load fails,
// and finishes its requests if the load succeeds.
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
	require.Same(t, old.(*state.Newest).LoadedVersion, same.(*state.Newest).LoadedVersion)
	same.Release()

	done = load()
	<-began
	let <- nil
	require.NoError(t, <-done, "a failed load is tried again")
	fresh, err := r.Model("m", "1")
	require.NoError(t, err)
	require.NotSame(t, old.(*state.Newest).LoadedVersion, fresh)
	fresh.Release()
	resp, err := inferOnce(t, old)
	require.NoError(t, err, "a held version may be used")
	resp.Release()
	require.NotContains(t, out.messages(), "successfully unloaded")
	old.Release()
	waitClosed(t, r)
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
	waitClosed(t, r)
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
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, status.Cancelled, status.CodeOf(r.Unload(cancelled, "m", false)), "a waiting call may be cancelled")
	go func() { done <- r.Unload(t.Context(), "m", false) }()
	let <- nil
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	waitClosed(t, r)
	require.Equal(t, "m:1 UNAVAILABLE unloaded, n:1 UNAVAILABLE unloaded", states(r))
}

// TestRegroup: with other instance groups only, the model, the counters and the instances that both
// have stay. A load returns when the superfluous ones are closed, as NVIDIA's does.
func TestRegroup(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": strings.Replace(identity, "identity", "odd", 1), "m/1/": ""})
	var loads, instances, closed, models atomic.Int32
	var fails atomic.Bool
	r, out, err := open(t, func(o *Options) {
		explicit(o)
		o.Startup = []string{"*"}
		o.Backends["odd"] = backendtest.Func(func(_ context.Context, s backend.Spec) (backend.Model, error) {
			loads.Add(1)
			return &backendtest.Model{
				Spec: s, InstanceClosing: func() { closed.Add(1) }, Closing: func() { models.Add(1) },
				Make: func(int, backend.Placement) error {
					if fails.Load() {
						return backendtest.ErrFault
					}
					instances.Add(1)
					return nil
				},
			}, nil
		})
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
	require.EqualValues(t, 1, loads.Load())
	require.EqualValues(t, 3, instances.Load(), "two are added")
	require.Zero(t, closed.Load())
	waitClosed(t, r)
	require.NotContains(t, out.messages(), "unloaded")
	s, err := r.Statistics("m", "")
	require.NoError(t, err)
	require.EqualValues(t, 1, s.ModelStats[0].InferenceCount)
	m, err = r.Model("m", "")
	require.NoError(t, err)
	require.EqualValues(t, 3, m.Config().GetInstanceGroup()[0].GetCount())
	m.Release()

	fails.Store(true)
	five := strings.Replace(three, `"count":3`, `"count":5`, 1)
	require.Error(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &five}))
	require.Zero(t, closed.Load(), "the three serve on")
	one := strings.Replace(three, `"count":3`, `"count":1`, 1)
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &one}))
	require.EqualValues(t, 2, closed.Load(), "when the load returns")
	m, err = r.Model("m", "")
	require.NoError(t, err)
	require.EqualValues(t, 1, m.Config().GetInstanceGroup()[0].GetCount())
	resp, err = inferOnce(t, m)
	require.NoError(t, err)
	resp.Release()
	m.Release()
	require.NoError(t, r.Unload(t.Context(), "m", false))
	waitClosed(t, r)
	require.EqualValues(t, 3, closed.Load())
	require.EqualValues(t, 1, models.Load())
	require.EqualValues(t, 1, loads.Load())
}

// TestFilesWithTheSameConfiguration: new files are loaded even when nothing
// else is new.
func TestFilesWithTheSameConfiguration(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, func(o *Options) {
		explicit(o)
		o.Backends["python"] = python
	}, tree(t, map[string]string{"m/config.pbtxt": pythonConfig, "m/1/model.py": "model"}))
	require.NoError(t, err)
	config := `{"backend":"python","input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}]}`
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &config}))
	err = r.Load(t.Context(), "m", infer.LoadOptions{Config: &config, Files: map[string][]byte{"file:1/model.py": []byte("x")}})
	require.ErrorContains(t, err, "NameError: name 'x' is not defined")
	require.Equal(t, "m:1 READY", states(r))
	left, err := filepath.Glob(filepath.Join(r.scratch.Dir(), "*"))
	require.NoError(t, err)
	require.Empty(t, left, "files that do not serve are removed")
}
