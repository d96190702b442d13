package repository

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

// TestPollIsLeft: a poll returns when its context ends, though a backend continues to load.
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

// TestPathGone: the models of a path that cannot be read stay loaded.
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
	waitClosed(t, r)
	_, err = r.Model("b", "")
	require.EqualError(t, err, "Request for unknown model: 'b' has no available versions")
}

// TestPollElsewhere: Poll, Load and Unload are errors in other control modes.
func TestPollElsewhere(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, nil, tree(t, map[string]string{"a/": ""}))
	require.ErrorIs(t, err, ErrLoad)
	require.EqualError(t, r.Poll(t.Context()), "polling is disabled")
	require.EqualError(t, r.Load(t.Context(), "a", infer.LoadOptions{}), "explicit model load / unload is not allowed if polling is enabled")
	require.EqualError(t, r.Unload(t.Context(), "a", false), "explicit model load / unload is not allowed if polling is enabled")
}
