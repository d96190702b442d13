package repository

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/infer"
)

// TestNestedEnsemblesInFlight: a request of an ensemble over an ensemble is finished,
// also when its first step ends only after the end of the models of the others began.
func TestNestedEnsemblesInFlight(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *Repository) error{
		"drain": func(r *Repository) error { return r.Drain(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := links(t)
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "top", "1"), 0o755))
			write(t, dir, "top/config.pbtxt", chain("a", "bc"))
			synctest.Test(t, func(t *testing.T) {
				gate := &gate{began: make(chan struct{}, 8), let: make(chan struct{})}
				r, _, err := open(t, func(o *Options) {
					explicit(o)
					o.Backends = backend.Set{"python": gate}
				}, dir)
				require.NoError(t, err)
				require.NoError(t, r.Load(t.Context(), "top", infer.LoadOptions{}))
				answer := make(chan error, 1)
				go func() { answer <- askInside(t, r, "top") }()
				<-gate.began // a runs
				ended := make(chan error, 1)
				go func() { ended <- end(r) }()
				synctest.Wait()
				close(gate.let)
				require.NoError(t, <-answer)
				require.NoError(t, <-ended)
			})
		})
	}
}
