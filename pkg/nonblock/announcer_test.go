package nonblock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Long calls are announced, and of the others one in some MiB: then the quiet bytes count anew.
func TestAnnouncer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ call, calls, announced int }{
		"1 MiB in one call":           {1 << 20, 1, 1},
		"3 MiB in calls of 1 MiB":     {1 << 20, 3, 3},
		"a long call":                 {quietCall + 1, 1, 1},
		"1 MiB in calls of 64 KiB":    {64 << 10, 16, 0},
		"4 MiB in calls of 64 KiB":    {64 << 10, 64, 1},
		"9 MiB in calls of 64 KiB":    {64 << 10, 144, 2},
		"4 MiB in calls of 128 KiB":   {quietCall, 32, 1},
		"4 MiB in calls of 16 KiB":    {16 << 10, 256, 1},
		"calls that do not divide it": {100 << 10, 41, 1},
		"one call fewer":              {100 << 10, 40, 0},
	} {
		var a Announcer
		announced := 0
		for range c.calls {
			if a.Call(c.call) {
				announced++
			}
		}
		require.Equal(t, c.announced, announced, name)
	}
}

// A long call ends the count: the next quiet bytes are all allowed.
func TestAnnouncerStartsAnew(t *testing.T) {
	t.Parallel()
	var a Announcer
	for range 63 {
		require.False(t, a.Call(64<<10))
	}
	require.True(t, a.Call(1<<20))
	for range 63 {
		require.False(t, a.Call(64<<10))
	}
	require.True(t, a.Call(64<<10))
}
