package perf

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A call that has begun before an interrupt may end after it, but does not hold up the end.
func TestOutlast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		longer, cancel := outlast(ctx, endTime)
		defer cancel()
		interrupt()
		begin := time.Now()
		synctest.Wait()
		require.NoError(t, longer.Err())
		<-longer.Done()
		require.Equal(t, endTime, time.Since(begin))
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		longer, cancel := outlast(ctx, endTime)
		interrupt()
		cancel()
		require.ErrorIs(t, longer.Err(), context.Canceled)
	})
}
