//go:build unix

package server

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnectionsWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files uint64
		open  int
		want  int
	}{
		{256, 30, 256 - 64 - 32 - 30},
		{1024, 100, 1024 - 256 - 128 - 100},
		{1 << 16, 100, 1<<16 - 4096 - 1<<13 - 100},
		{math.MaxUint64, 100, 1<<24 - 4096 - 1<<14 - 100},
		{100, 90, 16},
	} {
		require.Equal(t, c.want, connectionsWithin(c.files, c.open), "%d files, %d open", c.files, c.open)
	}
}
