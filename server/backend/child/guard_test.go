package child

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A guard ends the child if the context is cancelled while a batch runs, also before it
// begins, and not between batches or for the context of an earlier batch.
func TestGuard(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 10)
	g := NewGuard(func() { ended <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		g.Enter(ctx)
		g.Leave()
	}
	g.Enter(ctx)
	cancel()
	<-ended
	g.Leave()
	g.Enter(ctx)
	<-ended
	g.Leave()

	earlier, cancelEarlier := context.WithCancel(t.Context())
	g.Enter(earlier)
	g.Leave()
	later, cancelLater := context.WithCancel(t.Context())
	g.Enter(later)
	cancelEarlier()
	g.Leave()
	cancelLater()
	g.Enter(t.Context())
	g.Leave()
	g.Close()
	require.Empty(t, ended)
}
