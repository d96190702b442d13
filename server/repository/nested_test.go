package repository

import (
	"context"
	"os"
	"path/filepath"
	"strings"
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
		"drain":           func(r *Repository) error { return r.Drain(context.Background()) },
		"unload":          func(r *Repository) error { return r.Unload(context.Background(), "top", true) },
		"unload of inner": func(r *Repository) error { return r.Unload(context.Background(), "bc", true) },
		"unload of c":     func(r *Repository) error { return r.Unload(context.Background(), "c", false) },
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
				waitClosed(t, r)
				for _, v := range r.openVersions() {
					require.Zero(t, v.InFlight(), v.Label())
				}
			})
		})
	}
}

// TestEnsembleOverOneThatFollows: an ensemble that an operation reloads together with a model
// two levels below it is checked again when the ensemble between them is reloaded, and so are
// the ensembles above it.
func TestEnsembleOverOneThatFollows(t *testing.T) {
	t.Parallel()
	dir := links(t)
	for name, step := range map[string]string{"mid": "c", "top": "mid", "crown": "top"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		write(t, dir, name+"/config.pbtxt", chain(step))
	}
	r, _, err := open(t, func(o *Options) { o.Control, o.Backends = ControlPoll, backend.Set{"python": snake} }, dir)
	require.NoError(t, err)
	require.NoError(t, ask(t, r, "crown"))
	change := func(part string) {
		for name, text := range map[string]string{"c": part, "top": chain("mid"), "crown": chain("top")} {
			write(t, dir, name+"/config.pbtxt", text)
			touch(t, filepath.Join(dir, name, "config.pbtxt"))
		}
		require.NoError(t, r.Poll(t.Context()))
		waitClosed(t, r)
	}
	change(strings.Replace(link, "INT32", "FP32", 2))
	for _, name := range []string{"mid", "top", "crown"} {
		require.Nil(t, r.actual.Snapshot().Named(name)[0].Newest(), "%s: its part does not fit, or does not serve: %s", name, states(r))
	}
	change(link)
	require.NoError(t, ask(t, r, "crown"))
}
