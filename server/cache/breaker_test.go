package cache_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/cache"
	"triton/server/infer"
)

var errBroken = errors.New("no answer")

// newBreaker is called in a bubble, whose clock begins years before the start of the program, where
// infer.Now is 0.
func newBreaker() (*cache.Breaker, *bytes.Buffer) {
	time.Sleep(time.Duration(1 - infer.Now()))
	log := &bytes.Buffer{}
	return cache.NewBreaker(slog.New(slog.NewTextHandler(log, nil)), "the cache"), log
}

// TestBreaker: after a failure one call for each pause tries the cache, until one succeeds.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := newBreaker()
		for range 3 {
			require.True(t, b.Allows())
			require.False(t, b.Open())
			b.Succeed()
		}
		require.Empty(t, log.String())

		b.Fail("lookup", errBroken)
		require.True(t, b.Open())
		require.False(t, b.Allows())
		time.Sleep(999 * time.Millisecond)
		require.False(t, b.Allows())
		time.Sleep(time.Millisecond)
		require.False(t, b.Open())
		require.True(t, b.Allows(), "one tries")
		require.False(t, b.Allows(), "and no other")
		require.True(t, b.Open())
		b.Fail("insert", errBroken)
		time.Sleep(time.Second)
		require.True(t, b.Allows())
		b.Succeed()
		require.True(t, b.Allows())
		require.True(t, b.Allows())
		b.Succeed()
		require.Equal(t, 1, strings.Count(log.String(), "the cache answers again"))
	})
}

// TestTrialWithoutResult: a call that neither succeeds nor fails leaves the next pause its trial.
func TestTrialWithoutResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBreaker()
		b.Fail("lookup", errBroken)
		for range 3 {
			time.Sleep(time.Second)
			require.True(t, b.Allows())
			require.False(t, b.Allows())
		}
	})
}

// TestOneTrial: of many calls at the end of a pause one is let through.
func TestOneTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBreaker()
		b.Fail("lookup", errBroken)
		time.Sleep(time.Second)
		var allowed atomic.Int32
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if b.Allows() {
					allowed.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, allowed.Load())
	})
}

// TestLog: failures are written once for each pause, with the number of those that were not.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, log := newBreaker()
		for range 5 {
			b.Report("lookup", errBroken)
		}
		require.False(t, b.Open(), "a report does not stop the calls")
		require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"))
		require.Contains(t, log.String(), `msg="response cache: the cache failed" call=lookup error="no answer" unreported=0`)
		time.Sleep(time.Second)
		b.Fail("insert", errBroken)
		b.Fail("insert", errBroken)
		require.Equal(t, 2, strings.Count(log.String(), "level=ERROR"))
		require.Contains(t, log.String(), "until it answers again, lookups miss and responses are not stored\" call=insert error=\"no answer\" unreported=4")
	})
}
