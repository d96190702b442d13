package memory

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNeverOverTheLimit lets goroutines compete for the last bytes: never do two have them.
func TestNeverOverTheLimit(t *testing.T) {
	t.Parallel()
	const limit, size = 1 << 20, 1 << 10
	b := New(limit)
	b.Add(Tensors, limit-size)
	var holders, given atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			<-start
			for range 3_000_000 {
				if !b.count(size, limit) {
					continue
				}
				if n, used := holders.Add(1), b.Total(); n > 1 || used > limit {
					t.Errorf("%d have the last bytes, %d of %d bytes are in use", n, used, limit)
				}
				given.Add(1)
				holders.Add(-1)
				b.Return(Tensors, size)
			}
		})
	}
	close(start)
	wg.Wait()
	require.EqualValues(t, limit-size, b.Total())
	require.Positive(t, given.Load())
}
