package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	require.Positive(t, RoundTrips(20*time.Millisecond, nil))
	stop := make(chan struct{})
	close(stop)
	require.Zero(t, RoundTrips(time.Hour, stop))
}
