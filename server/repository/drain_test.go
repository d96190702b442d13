package repository

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
)

// stuck is an engine that closes no sooner than it is let.
type stuck struct {
	oddEngine
	let chan struct{}
}

func (e stuck) Load(ctx context.Context, s backend.Spec) (backend.Model, error) {
	m, err := e.oddEngine.Load(ctx, s)
	return &stuckModel{m, e.let}, err
}

type stuckModel struct {
	backend.Model
	let chan struct{}
}

func (m *stuckModel) Close() error {
	<-m.let
	return m.Model.Close()
}

// An engine that does not come to its end holds the server up no longer than
// others.
func TestADrainLeavesAnEngineThatHangs(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"m/config.pbtxt": strings.Replace(identity, "identity", "stuck", 1), "m/1/": "", "n/config.pbtxt": identity, "n/1/": "",
	})
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		r, out, err := open(t, func(o *Options) { o.Backends["stuck"] = stuck{let: let} }, dir)
		require.NoError(t, err)
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		err = r.Drain(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "1 model versions do not end")
		require.Equal(t, 3*time.Second, time.Since(begin), "at the next look after its time")
		require.Contains(t, out.messages(), "successfully unloaded 'n' version 1")
		require.NotContains(t, out.messages(), "unloaded 'm'")
		close(let)
		require.NoError(t, r.Drain(t.Context()), "again")
	})
}
