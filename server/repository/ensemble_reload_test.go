package repository

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/infer"
)

// TestReloadUnderEnsembles loads the models of steps again and again: other
// files, other instances, the ensembles themselves. No request notices.
func TestReloadUnderEnsembles(t *testing.T) {
	t.Parallel()
	dir := links(t)
	r, _, err := open(t, func(o *Options) {
		o.Control, o.Startup, o.Backends = ControlExplicit, []string{"abab", "bc"}, backend.Set{"python": snake}
	}, dir)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	loop := func(step func(i int) error) {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := step(i); err != nil {
					t.Error(err)
					stop()
				}
			}
		})
	}
	for _, name := range []string{"abab", "bc", "ab"} {
		loop(func(int) error { return ask(t, r, name) })
	}
	loop(func(i int) error {
		if i == 10 {
			stop()
		}
		write(t, dir, "a/1/f", strconv.Itoa(i))
		return r.Load(t.Context(), "a", infer.LoadOptions{})
	})
	loop(func(i int) error {
		write(t, dir, "b/config.pbtxt", link+"instance_group { count: "+strconv.Itoa(1+i%3)+" kind: KIND_CPU }")
		return r.Load(t.Context(), "b", infer.LoadOptions{})
	})
	loop(func(i int) error {
		write(t, dir, "ab/config.pbtxt", chain("a", "b")+strings.Repeat("\n", i%2))
		return r.Load(t.Context(), []string{"ab", "bc", "abab"}[i%3], infer.LoadOptions{})
	})
	wg.Wait()
}
