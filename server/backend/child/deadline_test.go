package child

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A deadline is exceeded only by the call that runs too long: neither by the time between calls
// nor by several calls together.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		exceeded := 0
		d := NewDeadline(time.Second, func() { exceeded++ })
		for range 5 {
			d.Begin()
			time.Sleep(time.Second - time.Millisecond)
			d.End()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(t, exceeded)
		d.Begin()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, exceeded)
		d.End()
		d.Begin()
		d.check() // a timer that fired while the next call began
		d.End()
		d.check()
		require.Equal(t, 1, exceeded)
	})
	var none *Deadline
	require.Nil(t, NewDeadline(0, nil))
	none.Begin()
	none.End()
}
