package process

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// withSignals returns a process that gets the signals of a channel.
func withSignals(signals <-chan os.Signal) Process {
	return Process{Signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}
}

// TestOnSignal: signals within the window are one request to stop; only a later
// signal is a second one.
func TestOnSignal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		window time.Duration
		want   []string
	}{
		"one second": {time.Second, []string{"first terminated", "again interrupt", "again terminated"}},
		"none":       {0, []string{"first terminated", "again terminated", "again interrupt", "again interrupt", "again terminated"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal)
				var got []string
				note := func(what string) func(os.Signal) {
					return func(sig os.Signal) { got = append(got, what+" "+sig.String()) }
				}
				stop := withSignals(signals).OnSignal(c.window, note("first"), note("again"))
				signals <- syscall.SIGTERM
				signals <- syscall.SIGTERM
				time.Sleep(time.Second)
				signals <- syscall.SIGINT
				time.Sleep(time.Nanosecond)
				signals <- syscall.SIGINT
				signals <- syscall.SIGTERM
				stop()
				require.Equal(t, c.want, got)
			})
		})
	}
}

func TestInterruptible(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal)
	ctx, stop := withSignals(signals).Interruptible(t.Context())
	signals <- syscall.SIGINT
	signals <- syscall.SIGINT
	<-ctx.Done()
	require.EqualError(t, context.Cause(ctx), "interrupted")
	stop()

	ctx, stop = withSignals(signals).Interruptible(t.Context())
	stop()
	require.ErrorIs(t, context.Cause(ctx), context.Canceled)
}
