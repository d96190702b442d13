package load_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf/load"
	"triton/pkg/client/lane"
	"triton/pkg/status"
)

func TestConnectInAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		g := load.NewClosed(t.Context(), load.Options{Dialer: slowDialer{l}, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		begin := time.Now()
		require.NoError(t, g.Connect(t.Context(), 3))
		require.Equal(t, time.Second, time.Since(begin), "all at a time")
		require.EqualValues(t, 3, l.dialed.Load())
		require.NoError(t, g.Connect(t.Context(), 2), "they are open")
		g.Start(load.Demand{Concurrency: 3})
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 3, g.Pending(), "the first requests did not wait for connections")

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, g.Connect(ctx, 4), context.DeadlineExceeded)
	})
}

func TestConnectFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		l.dialErr = errors.New("no server")
		g := load.NewClosed(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		require.ErrorIs(t, g.Connect(t.Context(), 2), load.ErrLoad)
	})
}

func TestAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		g := load.NewClosed(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		after := func(d time.Duration) bool {
			time.Sleep(d)
			synctest.Wait()
			return g.Answered()
		}
		g.Start(load.Demand{Concurrency: 1})
		require.False(t, after(900*time.Millisecond))
		require.True(t, after(200*time.Millisecond))
		// The request in flight belongs to the level before, and does not count.
		g.Start(load.Demand{Concurrency: 2})
		require.False(t, after(950*time.Millisecond))
		require.False(t, after(100*time.Millisecond), "only the new worker has a response of this level")
		require.True(t, after(time.Second))
		g.Start(load.Demand{Concurrency: 1})
		require.False(t, after(0), "again")
	})
}

func TestErrorsOfTheServerAreTolerated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		l.fail = func(int) error { return status.New(status.Unavailable, "not now") }
		g := load.NewClosed(t.Context(), load.Options{
			Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}, TolerateErrors: true,
		})
		defer g.Close()
		<-g.Start(load.Demand{Concurrency: 2, Total: 5})
		b := g.Collect(nil, lane.Now())
		require.Empty(t, b.Samples)
		require.EqualValues(t, 5, b.Errors)
		require.EqualError(t, b.LastError, "not now")
		require.NoError(t, g.Err())

		l.fail = func(int) error { return errors.New("broken") }
		g.Start(load.Demand{Concurrency: 1})
		<-g.Failed()
		require.EqualError(t, g.Failures()[0].Err, "broken")
	})
}
