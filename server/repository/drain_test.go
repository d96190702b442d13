package repository

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
)

// A drain waits for a model that hangs in Close no longer than for requests.
func TestADrainLeavesAModelThatHangs(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"m/config.pbtxt": strings.Replace(identity, "identity", "stuck", 1), "m/1/": "", "n/config.pbtxt": identity, "n/1/": "",
	})
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		release := sync.OnceFunc(func() { close(let) })
		defer release() // also after a failure, so that the cleanup of open does not hang
		r, out, err := open(t, func(o *Options) {
			o.Backends["stuck"] = backendtest.Func(func(_ context.Context, s backend.Spec) (backend.Model, error) {
				return &backendtest.Model{Spec: s, Closing: func() { <-let }}, nil
			})
		}, dir)
		require.NoError(t, err)
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		err = r.Drain(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "1 model versions are still running")
		require.Equal(t, 3*time.Second, time.Since(begin), "at the first check after its time")
		require.Contains(t, out.messages(), "successfully unloaded 'n' version 1")
		require.NotContains(t, out.messages(), "unloaded 'm'")
		release()
		require.NoError(t, r.Drain(t.Context()), "again")
	})
}

// TestDrainDuringLoad: a version that finishes loading during a drain is closed.
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

// TestDrainTwice: a version releases what it holds once, also when a drain is repeated.
func TestDrainTwice(t *testing.T) {
	t.Parallel()
	r, out, err := open(t, explicit, t.TempDir())
	require.NoError(t, err)
	config := `{"backend":"identity","input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}]}`
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &config, Files: map[string][]byte{"file:1/f": []byte("x")}}))
	open := r.openVersions()
	require.Len(t, open, 1)
	require.DirExists(t, r.scratch.Dir())
	require.NoError(t, r.Drain(t.Context()))
	require.NoError(t, r.Drain(t.Context()))
	require.Empty(t, r.scratch.Dir())
	require.Equal(t, 1, strings.Count(out.messages(), "successfully unloaded 'm' version 1"))
}

// TestDrainGivesBackFolders: a drain releases also the folders that ensembles would be loaded
// from again.
func TestDrainGivesBackFolders(t *testing.T) {
	t.Parallel()
	s := ensembleOf(t)
	r, _, err := stored(t, s, ControlNone)
	require.NoError(t, err)
	require.NoError(t, ask(t, r, "e"))
	require.NotZero(t, s.open.Load())
	require.NoError(t, r.Drain(t.Context()))
	require.Zero(t, s.open.Load())
}

// TestDrainTimesOut holds a model for longer than the drain may take.
func TestDrainTimesOut(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": identity, "m/1/": ""})
	r, out, err := open(t, nil, dir)
	require.NoError(t, err)
	m, err := r.Model("m", "")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	drained := make(chan error)
	go func() { drained <- r.Drain(ctx) }()
	for !strings.Contains(out.messages(), "Model 'm' (version 1) has 1 in-flight inferences") {
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case err := <-drained:
		t.Fatal("the drain has not waited for the holder of the model", err)
	default:
	}
	cancel()
	require.Error(t, <-drained)
	m.Release()
}
