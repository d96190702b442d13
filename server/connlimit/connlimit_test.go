package connlimit

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The connection that was idle for the longest time makes room; one with a request in flight does
// not.
func TestTheLongestIdleMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(3)
		var closed []string
		open := func(name string) *Conn {
			time.Sleep(time.Second)
			c, ok := l.Open(func() { closed = append(closed, name) }, false)
			require.True(t, ok, name)
			return c
		}
		a, b, c := open("a"), open("b"), open("c")
		time.Sleep(time.Second)
		a.Begin()
		b.Active()
		open("d")
		require.Equal(t, []string{"c"}, closed, "a has a request, and b was used later")
		c.Close() // whoever serves it ends
		a.End()
		time.Sleep(time.Second)
		b.Active()
		a.Begin()
		open("e")
		require.Equal(t, []string{"c", "d"}, closed)
		b.Begin()
		b.Begin()
		b.End()
		f := open("f")
		require.Equal(t, []string{"c", "d", "e"}, closed)
		f.Begin()
		_, ok := l.Open(nil, false)
		require.False(t, ok, "all have requests")
		require.Equal(t, uint64(1), l.Refused())
		require.Equal(t, uint64(3), l.Evicted())
		g, ok := l.Open(func() {}, true)
		require.True(t, ok, "the reserve")
		g.Close()
		f.Close()
		open("h")
		require.Equal(t, []string{"c", "d", "e"}, closed, "there was room")
		require.Equal(t, 1, l.Shed(10))
		require.Equal(t, []string{"c", "d", "e", "h"}, closed)
	})
}

// A flood evicts its own connections, in the order in which they came.
func TestFlood(t *testing.T) {
	t.Parallel()
	l := New(1000)
	busy, ok := l.Open(func() { t.Error("a connection with a request was closed") }, false)
	require.True(t, ok)
	busy.Begin()
	next := 0
	for i := range 5000 {
		_, ok := l.Open(func() {
			if next != i {
				t.Errorf("connection %d was closed instead of %d", i, next)
			}
			next++
		}, false)
		require.True(t, ok)
		time.Sleep(time.Nanosecond)
	}
	require.Equal(t, 4001, next)
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	l := New(8)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				if c, ok := l.Open(func() {}, false); ok {
					c.Begin()
					c.Active()
					c.End()
					c.Close()
				}
				l.Shed(1)
			}
		})
	}
	wg.Wait()
	require.Empty(t, l.mu.open)
}

// What is counted for metrics.
func TestCounts(t *testing.T) {
	t.Parallel()
	l := New(2)
	for range 3 {
		c, ok := l.Open(func() {}, false)
		require.True(t, ok)
		c.Late()
	}
	require.Equal(t, []uint64{2, 1, 3, 0}, []uint64{uint64(l.Len()), l.Evicted(), l.Late(), l.Refused()})
}

// Without a limit nothing is counted.
func TestNoLimit(t *testing.T) {
	t.Parallel()
	l := New(0)
	require.Nil(t, l)
	c, ok := l.Open(nil, false)
	require.True(t, ok)
	c.Begin()
	c.Active()
	c.End()
	c.Close()
	c.Late()
	require.Zero(t, l.Shed(1)+l.Max()+l.Len()+int(l.Evicted()+l.Refused()+l.Late()))
}
