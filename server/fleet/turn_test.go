package fleet

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

// slowServer loads the model "slow" until let is closed, as a backend that hangs.
type slowServer struct {
	*fakeServer
	let chan struct{}
}

func (s *slowServer) Load(ctx context.Context, name string, o infer.LoadOptions) error {
	if name == "slow" {
		<-s.let
	}
	return s.fakeServer.Load(ctx, name, o)
}

func (s *slowServer) controller(t *testing.T, file string) *Controller {
	c := newController(t, s.fakeServer, file, true)
	c.opts.Models = s
	return c
}

// TestSlowLoadOfController: the end of the server's context ends a look whose load hangs.
func TestSlowLoadOfController(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state")
	put(t, file, `{"models":{"slow":{}}}`)
	synctest.Test(t, func(t *testing.T) {
		s := &slowServer{newFake(), make(chan struct{})}
		c := s.controller(t, file)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Sync(ctx) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		close(s.let)
	})
}

// TestSlowLoadOfClient: a load of a client that hangs holds up neither other clients nor an export, and
// a look that waits for it ends with its context.
func TestSlowLoadOfClient(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state")
	put(t, file, `{"models":{}}`)
	synctest.Test(t, func(t *testing.T) {
		s := &slowServer{newFake(), make(chan struct{})}
		c := s.controller(t, file)
		require.NoError(t, c.Sync(t.Context()))
		slow := make(chan error, 1)
		go func() { slow <- c.Load(t.Context(), "slow", infer.LoadOptions{}) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		looked := make(chan error, 1)
		go func() { looked <- c.Sync(ctx) }()
		synctest.Wait()
		require.NoError(t, c.Load(t.Context(), "quick", infer.LoadOptions{}))
		d, err := c.Export(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"quick"}, d.Names())
		cancel()
		require.ErrorIs(t, <-looked, context.Canceled)
		close(s.let)
		require.NoError(t, <-slow)
		require.NoError(t, c.Sync(t.Context()))
		require.Equal(t, "load quick, load slow", s.took())
	})
}

// TestHungLoadOfController: a load of the controller that hangs holds up neither clients nor other models of
// the document. It is not begun again, and when it ends the server is as the document says.
func TestHungLoadOfController(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state")
	put(t, file, `{"models":{"slow":{"revision":"1"}}}`)
	synctest.Test(t, func(t *testing.T) {
		s := &slowServer{newFake(), make(chan struct{})}
		c := s.controller(t, file)
		looked := make(chan error, 1)
		go func() { looked <- c.Sync(t.Context()) }()
		synctest.Wait()
		begin := time.Now()
		require.NoError(t, c.Load(t.Context(), "quick", infer.LoadOptions{}))
		require.LessOrEqual(t, time.Since(begin), loadWait+time.Second)
		require.ErrorContains(t, <-looked, "load model 'slow' failed: it has not ended within 10s and goes on")
		for range 5 {
			time.Sleep(time.Minute)
			require.ErrorContains(t, c.Sync(t.Context()), "goes on")
			require.NoError(t, c.Load(t.Context(), "quick", infer.LoadOptions{}))
		}
		close(s.let)
		synctest.Wait()
		require.NoError(t, c.Sync(t.Context()))
		require.Equal(t, 1, strings.Count(s.took(), "load slow"))
		put(t, file, `{"models":{"slow":{"revision":"2"},"quick":{}}}`)
		require.NoError(t, c.Sync(t.Context()))
		require.True(t, strings.HasSuffix(s.took(), "load slow"), "its revision is known")
	})
}

// lookedAt calls then with each plan of the controller.
type lookedAt struct {
	*slowServer
	then func()
}

func (s *lookedAt) Loaded() []Model {
	s.then()
	return s.slowServer.Loaded()
}

// TestLoadThatEndsDuringALook: the document changes while a load hangs, and the load ends when the next look
// has begun. Its end does not count for the new entry, which is loaded too.
func TestLoadThatEndsDuringALook(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state")
	put(t, file, `{"models":{"slow":{"config":{"x":1}}}}`)
	synctest.Test(t, func(t *testing.T) {
		s := &lookedAt{&slowServer{newFake(), make(chan struct{})}, func() {}}
		c := s.controller(t, file)
		c.opts.Models = s
		require.ErrorContains(t, c.Sync(t.Context()), "goes on")
		put(t, file, `{"models":{"slow":{"config":{"x":2},"revision":"2"}}}`)
		loads := c.loads.all["slow"]
		time.Sleep(time.Minute)
		s.then = func() {
			s.then = func() {}
			close(s.let)
			<-loads.done
		}
		require.Error(t, c.Sync(t.Context()), "the document is not applied yet")
		require.NoError(t, c.Sync(t.Context()))
		require.Equal(t, "load slow, load slow", s.took())
		require.JSONEq(t, `{"x":2}`, *s.loaded["slow"])
		require.NoError(t, c.Sync(t.Context()))
		require.Empty(t, s.took())
	})
}
