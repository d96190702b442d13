package repository

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPollOnDemandWaits: a poll leaves what is being written and what was removed a moment ago, and the
// index says so.
func TestPollOnDemandWaits(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	dir := demandTree(t, map[string]string{"a": "", "b": ""})
	r, _, err := open(t, onDemand(&loads, func(o *Options) { o.SettleTime = time.Hour }), dir)
	require.NoError(t, err)
	require.NoError(t, request(t, r, "a"), "the first load does not wait")
	require.NoError(t, request(t, r, "b"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a/1/weights"), []byte("half"), 0o600))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "b")))
	require.NoError(t, r.Poll(t.Context()))
	require.EqualValues(t, 1, loadsOf(&loads, "a"))
	require.Equal(t, "a b", loadedNames(r))
	require.Contains(t, indexOf(r), "a 1 READY waiting until ")
	r.settling.Time = 0 // as if the time were over
	require.NoError(t, r.Poll(t.Context()))
	require.EqualValues(t, 2, loadsOf(&loads, "a"))
	require.NotContains(t, indexOf(r), "waiting")
}

// TestIncompleteOnDemand: a request loads the versions whose files are complete by their names, and a
// poll leaves the others until they are.
func TestIncompleteOnDemand(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	dir := demandTree(t, map[string]string{"a": ""})
	part := filepath.Join(dir, "a/2/weights.part")
	require.NoError(t, os.MkdirAll(filepath.Dir(part), 0o755))
	require.NoError(t, os.WriteFile(part, []byte("half"), 0o600))
	r, _, err := open(t, onDemand(&loads, nil), dir)
	require.NoError(t, err)
	require.NoError(t, request(t, r, "a"))
	require.Equal(t, "a:1 READY", states(r))
	require.NoError(t, r.Poll(t.Context()))
	require.EqualValues(t, 1, loadsOf(&loads, "a"))
	require.Contains(t, indexOf(r), "waiting until version 2 is complete")
	require.NoError(t, os.Rename(part, filepath.Join(dir, "a/2/weights")))
	require.NoError(t, r.Poll(t.Context()))
	require.Contains(t, states(r), "a:2 READY")
}

// TestPollOnDemandFailure: a failed load of changed files leaves what serves, is told by the index, and is
// tried again by the polls of the interval only.
func TestPollOnDemandFailure(t *testing.T) {
	t.Parallel()
	var loads sync.Map
	dir := demandTree(t, map[string]string{"a": ""})
	r, _, err := open(t, onDemand(&loads, nil), dir)
	require.NoError(t, err)
	require.NoError(t, request(t, r, "a"))
	fails := identity + `parameters { key: "fail_load" value { string_value: "1" } }`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a/config.pbtxt"), []byte(fails), 0o600))
	for range 3 {
		require.NoError(t, r.pollSafely(t.Context(), pollOptions{wait: true}))
	}
	require.EqualValues(t, 2, loadsOf(&loads, "a"))
	require.Contains(t, indexOf(r), "a 1 READY version 1 failed: Internal: no luck; version 1 serves as before")
	require.NoError(t, r.Poll(t.Context()))
	require.EqualValues(t, 3, loadsOf(&loads, "a"))
}
