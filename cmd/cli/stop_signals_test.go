package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSignalTwiceWithinASecond: a signal that reaches the process and its group is
// one request to stop; only a later signal forces the exit.
func TestSignalTwiceWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals, done, ended := make(chan os.Signal), make(chan struct{}), make(chan struct{})
		var got []string
		note := func(what string) func(os.Signal) {
			return func(sig os.Signal) { got = append(got, what+" "+sig.String()) }
		}
		go func() {
			defer close(ended)
			watchSignals(signals, done, note("first"), note("again"))
		}()
		signals <- syscall.SIGTERM
		signals <- syscall.SIGTERM
		time.Sleep(sameSignal)
		signals <- syscall.SIGINT
		time.Sleep(time.Nanosecond)
		signals <- syscall.SIGINT
		signals <- syscall.SIGTERM
		close(done)
		<-ended
		require.Equal(t, []string{"first terminated", "again interrupt", "again terminated"}, got)
	})
}
