package repository

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/model"
)

// A poll loads the versions whose files changed; the others keep their instances and counters. A version
// that fails takes none of them out of service.
func TestOnlyChangedVersionsAreLoaded(t *testing.T) {
	t.Parallel()
	config := strings.Replace(identity, "identity", "odd", 1) + "version_policy { all { } }\n"
	s := newRemote(t, map[string]string{"m/config.pbtxt": config, "m/1/model": "a", "m/2/model": "a", "m/3/model": "a"})
	var mu sync.Mutex
	var loads []string
	bad := false
	r, _, err := open(t, func(o *Options) {
		polling(0)(o)
		o.Store = s
		o.Backends["odd"] = backendtest.Func(func(_ context.Context, spec backend.Spec) (backend.Model, error) {
			mu.Lock()
			defer mu.Unlock()
			loads = append(loads, filepath.Base(spec.Dir))
			if bad {
				return nil, fmt.Errorf("bad file")
			}
			return &backendtest.Model{Spec: spec}, nil
		})
	})
	require.NoError(t, err)
	loaded := func() (all []*model.LoadedVersion) { return r.actual.Snapshot().Models()[0].ReadyVersions() }
	poll := func(want ...string) []*model.LoadedVersion {
		t.Helper()
		loads = nil
		require.NoError(t, r.Poll(t.Context()))
		waitClosed(t, r)
		require.ElementsMatch(t, want, loads)
		return loaded()
	}
	before := loaded()
	for _, v := range before {
		require.True(t, v.Acquire())
		resp, err := inferOnce(t, v)
		require.NoError(t, err)
		resp.Release()
		v.Release()
	}
	s.put("m/2/model", "b")
	after := poll("2")
	require.Same(t, before[0], after[0])
	require.NotSame(t, before[1], after[1])
	require.Same(t, before[2], after[2])
	require.EqualValues(t, 1, after[0].Statistics().GetInferenceCount())

	bad = true
	s.put("m/3/model", "b")
	require.Equal(t, after, poll("3"), "what serves, serves on")
	bad = false
	again := poll("3")
	require.Same(t, after[0], again[0])
	require.Same(t, after[1], again[1])
	require.NotSame(t, after[2], again[2])

	s.put("m/labels.txt", "a file that all versions may use")
	poll("1", "2", "3")
	s.put("m/config.pbtxt", config+"# a comment\n")
	require.Len(t, poll(), 3)
	s.put("m/config.pbtxt", config+"instance_group { count: 2 kind: KIND_CPU }\n")
	require.Len(t, poll(), 3)
}
