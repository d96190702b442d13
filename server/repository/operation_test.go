package repository

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
)

// commanding is a backend whose models load and unload others while they are being loaded, as
// Python models do in initialize.
type commanding struct {
	*Repository
	orders  map[string][]string // by model: names to load; with "-" before it: to unload
	meeting map[string]func()   // by model: called first
}

func (c *commanding) Load(ctx context.Context, s backend.Spec) (backend.Model, error) {
	if meet := c.meeting[s.Name]; meet != nil {
		meet()
	}
	for _, order := range c.orders[s.Name] {
		var err error
		if name, unload := strings.CutPrefix(order, "-"); unload {
			err = c.Unload(ctx, name, false)
		} else {
			err = c.Repository.Load(ctx, name, infer.LoadOptions{})
		}
		if err != nil {
			return nil, err
		}
	}
	return &backendtest.Model{Spec: s}, nil
}

// startCommanding starts a repository with models of these names.
func startCommanding(t *testing.T, threads int, models string, orders map[string][]string) *commanding {
	t.Helper()
	dir := t.TempDir()
	for _, name := range strings.Fields(models) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(pythonConfig), 0o644))
	}
	c := &commanding{orders: orders, meeting: map[string]func(){}}
	r, _, err := open(t, func(o *Options) {
		o.Control, o.LoadThreads, o.Backends = ControlExplicit, threads, backend.Set{"python": c}
	}, dir)
	require.NoError(t, err)
	c.Repository = r
	return c
}

// TestLoadsThatLoad: a model that loads another one while it is being loaded gives its place
// back meanwhile, so that few load threads are enough.
func TestLoadsThatLoad(t *testing.T) {
	t.Parallel()
	c := startCommanding(t, 1, "a b c d", map[string][]string{"a": {"b", "c", "-d"}, "b": {"c"}, "c": {"d"}})
	var loading sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		loading.Go(func() { require.NoError(t, c.Repository.Load(t.Context(), name, infer.LoadOptions{})) })
	}
	loading.Wait()
	for _, name := range []string{"a", "b", "c"} {
		ready, err := c.ModelReady(name, "")
		require.NoError(t, err)
		require.True(t, ready, name)
	}
	require.Empty(t, c.places)
	require.Empty(t, c.locks.waiting)
	require.Empty(t, c.locks.busy)
}

// TestLoadsThatWaitForEachOther: an operation that would wait for ever is refused, and the
// models can be loaded later.
func TestLoadsThatWaitForEachOther(t *testing.T) {
	t.Parallel()
	for name, orders := range map[string]map[string][]string{
		"itself":        {"a": {"a"}},
		"unload itself": {"a": {"-a"}},
		"two":           {"a": {"b"}, "b": {"a"}},
		"unload":        {"a": {"b"}, "b": {"-a"}},
		"three":         {"a": {"b"}, "b": {"c"}, "c": {"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCommanding(t, 1, "a b c", orders)
			err := c.Repository.Load(t.Context(), "a", infer.LoadOptions{})
			require.ErrorContains(t, err, "model 'a' is being loaded or unloaded, and that waits for this call")
			clear(c.orders)
			require.NoError(t, c.Repository.Load(t.Context(), "a", infer.LoadOptions{}))
		})
	}
}

// TestLoadsOfTwoClientsThatWaitForEachOther: two models that are being loaded for two clients
// load each other. One is refused.
func TestLoadsOfTwoClientsThatWaitForEachOther(t *testing.T) {
	t.Parallel()
	c := startCommanding(t, 2, "a b", map[string][]string{"a": {"b"}, "b": {"a"}})
	var once [2]sync.Once
	var met sync.WaitGroup
	met.Add(2)
	for i, name := range []string{"a", "b"} {
		c.meeting[name] = func() { once[i].Do(func() { met.Done(); met.Wait() }) }
	}
	errs := make(chan error, 2)
	for _, name := range []string{"a", "b"} {
		go func() { errs <- c.Repository.Load(context.Background(), name, infer.LoadOptions{}) }()
	}
	for range 2 {
		err := <-errs
		require.ErrorContains(t, err, "waits for this call")
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
	require.Empty(t, c.places)
	require.Empty(t, c.locks.waiting)
}

// TestUnlockedNamesAreNotWaitedFor: an operation that unlocks a name and then locks one of
// the operation that has waited for it is no cycle, though that one has not run yet.
func TestUnlockedNamesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	for range 200 {
		n := newNameLocks()
		first, second := &operation{}, &operation{}
		unlockB, err := n.lock(t.Context(), first, "b", nil)
		require.NoError(t, err)
		unlockA, err := n.lock(t.Context(), second, "a", nil)
		require.NoError(t, err)
		var waiting sync.WaitGroup
		waiting.Go(func() {
			unlock, err := n.lock(t.Context(), second, "b", nil)
			if !assert.NoError(t, err) {
				return
			}
			unlock()
			unlockA()
		})
		for { // until the second operation waits
			n.mu.Lock()
			waits := len(n.waiting)
			n.mu.Unlock()
			if waits > 0 {
				break
			}
			runtime.Gosched()
		}
		unlockB()
		unlock, err := n.lock(t.Context(), first, "a", nil)
		require.NoError(t, err)
		unlock()
		waiting.Wait()
	}
}
