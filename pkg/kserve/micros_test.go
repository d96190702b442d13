package kserve

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTimeout: the largest timeouts are long, not negative, and end at a time that exists.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for micros, want := range map[uint64]time.Duration{0: 0, 5: 5 * time.Microsecond, 1e9: 1000 * time.Second} {
		require.Equal(t, want, (&Request{TimeoutMicros: micros}).Timeout())
	}
	for _, micros := range []uint64{math.MaxInt64 / 1000, math.MaxInt64/1000 + 1, math.MaxInt64, math.MaxUint64} {
		d := (&Request{TimeoutMicros: micros}).Timeout()
		require.Greater(t, d, 50*365*24*time.Hour)
		require.True(t, time.Now().Add(d).After(time.Now()))
	}
}
