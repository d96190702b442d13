package repository

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/infer"
)

// ensembleOf is a store with two models and an ensemble e over the first.
func ensembleOf(t *testing.T) *remote {
	part := strings.ReplaceAll(link, "python", "snake")
	return newRemote(t, map[string]string{
		"a/config.pbtxt": part, "a/1/model.py": "a", "b/config.pbtxt": part, "b/1/model.py": "b",
		"e/config.pbtxt": chain("a"), "e/1/x": "",
	})
}

// block makes the first of some calls of a store wait, each until its channel is
// closed.
func (s *remote) block(calls ...string) map[string]chan struct{} {
	let, met := map[string]chan struct{}{}, map[string]*atomic.Bool{}
	for _, call := range calls {
		let[call], met[call] = make(chan struct{}), &atomic.Bool{}
	}
	s.on(func(_ context.Context, call string) error {
		if let[call] != nil && !met[call].Swap(true) {
			<-let[call]
		}
		return nil
	})
	return let
}

// loading begins a load, and returns when it can do nothing more for now.
func loading(r *Repository, name string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- r.Load(context.Background(), name, infer.LoadOptions{}) }()
	synctest.Wait()
	return done
}

// TestListingAfterAWait: a load that waited for another one lists the store after the wait, so that
// a model that was added meanwhile is found.
func TestListingAfterAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := ensembleOf(t)
		s.remove("b/")
		r, _, err := stored(t, s, ControlExplicit)
		require.NoError(t, err)
		require.NoError(t, <-loading(r, "e"))
		s.put("a/1/model.py", "aa")
		let := s.block("fetch a 1")
		first := loading(r, "a")
		second := loading(r, "e") // has its listing, and waits for the first
		s.put("b/config.pbtxt", strings.ReplaceAll(link, "python", "snake"))
		s.put("b/1/model.py", "b")
		s.put("e/config.pbtxt", chain("a", "b"))
		close(let["fetch a 1"])
		require.NoError(t, <-first)
		require.NoError(t, <-second)
		require.NoError(t, askInside(t, r, "e"))
	})
}

// TestOvertakenListing: if another load of the model completes after a load has listed the store
// and before it locks the name, the load lists the store again. It does not undo the other load.
func TestOvertakenListing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRemote(t, map[string]string{"m/config.pbtxt": strings.ReplaceAll(link, "python", "snake"), "m/1/model.py": "one"})
		r, _, err := stored(t, s, ControlExplicit)
		require.NoError(t, err)
		let := s.block("fetch m")
		first := loading(r, "m") // has listed version 1 and reads the configuration
		s.put("m/2/model.py", "two")
		require.NoError(t, <-loading(r, "m"))
		require.Equal(t, "m:2 READY", states(r))
		close(let["fetch m"])
		require.NoError(t, <-first) // never has to wait for the name
		waitClosed(t, r)
		require.Equal(t, "m:2 READY", states(r))
	})
}

// TestRelatedAfterAWait: a load that had to wait finds its related models again. No two calls load
// a model at the same time, and no version is lost.
func TestRelatedAfterAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := ensembleOf(t)
		r, _, err := stored(t, s, ControlExplicit)
		require.NoError(t, err)
		require.NoError(t, <-loading(r, "e"))
		s.put("a/1/model.py", "aa")
		let := s.block("fetch a 1", "fetch b 1")
		a := loading(r, "a")
		e := loading(r, "e") // waits for a
		s.put("e/config.pbtxt", chain("a", "b"))
		b := loading(r, "b")
		s.seen()
		close(let["fetch a 1"])
		require.NoError(t, <-a)
		synctest.Wait()
		require.NotContains(t, s.seen(), "fetch b 1", "it is being loaded by the call before")
		close(let["fetch b 1"])
		require.NoError(t, <-b)
		require.NoError(t, <-e)
		require.NoError(t, askInside(t, r, "e"))
		for _, name := range []string{"e", "a", "b"} {
			require.NoError(t, r.Unload(t.Context(), name, true))
		}
		waitClosed(t, r)
		require.Zero(t, s.open.Load(), "folders of versions that are not closed")
	})
}

// TestCallsThatHaveNotBegun end with their client, and with the server: while the
// store is listed, while a configuration is read, while another call holds the name.
func TestCallsThatHaveNotBegun(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"list", "stamp e", "fetch e"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := ensembleOf(t)
				r, _, err := stored(t, s, ControlExplicit)
				require.NoError(t, err)
				s.on(func(ctx context.Context, call string) error {
					if call != at {
						return nil
					}
					<-ctx.Done()
					return context.Cause(ctx)
				})
				loaded := make(chan error, 1)
				ctx, leave := context.WithCancel(t.Context())
				go func() { loaded <- r.Load(ctx, "e", infer.LoadOptions{}) }()
				synctest.Wait()
				leave()
				synctest.Wait()
				require.Len(t, loaded, 1, "the client has left")
				require.Equal(t, status.Cancelled, status.CodeOf(<-loaded))
				require.NotContains(t, states(r), "READY")

				go func() { loaded <- r.Load(t.Context(), "e", infer.LoadOptions{}) }()
				synctest.Wait()
				require.NoError(t, r.Drain(t.Context()))
				require.ErrorIs(t, <-loaded, errNotReady)
			})
		})
	}
}

// TestUnloadOfAClientThatHasLeft changes nothing.
func TestUnloadOfAClientThatHasLeft(t *testing.T) {
	t.Parallel()
	r, _, err := stored(t, ensembleOf(t), ControlExplicit)
	require.NoError(t, err)
	require.NoError(t, r.Load(t.Context(), "e", infer.LoadOptions{}))
	before := states(r)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	err = r.Unload(ctx, "a", false)
	require.Error(t, err)
	require.Equal(t, status.Cancelled, status.CodeOf(err))
	require.Equal(t, before, states(r))
}
