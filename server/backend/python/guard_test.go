package python

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
	g := guard{end: func() { ended <- struct{}{} }}
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		g.enter(ctx)
		g.leave()
	}
	g.enter(ctx)
	cancel()
	<-ended
	g.leave()
	g.enter(ctx)
	<-ended
	g.leave()

	earlier, cancelEarlier := context.WithCancel(t.Context())
	g.enter(earlier)
	g.leave()
	later, cancelLater := context.WithCancel(t.Context())
	g.enter(later)
	cancelEarlier()
	g.leave()
	cancelLater()
	g.enter(t.Context())
	g.leave()
	g.close()
	require.Empty(t, ended)
}
