package serve

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
)

// TestDeadline: after a second signal the program waits for code that does not return for killGrace and no
// longer; before, as long as it takes.
func TestDeadline(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		takes, killed time.Duration // killed 0: never
		want          error
		after         time.Duration
	}{
		"not killed":        {time.Hour, 0, failed, time.Hour},
		"killed and ending": {time.Hour + time.Second, time.Hour, failed, time.Hour + time.Second},
		"killed and stuck":  {2 * time.Hour, time.Hour, server.ErrKilled, time.Hour + killGrace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, d := time.Now(), newDeadline()
				if c.killed > 0 {
					for i := range time.Duration(2) { // a third signal changes nothing
						time.AfterFunc(c.killed+i, d.start)
					}
				}
				err := d.bound(func() error { time.Sleep(c.takes); return failed })
				require.Equal(t, c.after, time.Since(began))
				require.Equal(t, c.want, err)
				time.Sleep(c.takes) // the goroutine ends
			})
		})
	}
}
