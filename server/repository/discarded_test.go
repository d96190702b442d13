package repository

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
)

// A load that fails with one version ends when the versions that it has built in vain are closed, or
// after a while when one of them hangs.
func TestFailedLoadClosesWhatItBuilt(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"m/config.pbtxt": strings.Replace(identity, "identity", "half", 1) + "\nversion_policy { all {} }\n", "m/1/": "", "m/2/": "",
	})
	for _, test := range []struct {
		name   string
		closes time.Duration
		took   time.Duration
		states string
	}{
		{"closed", 2 * time.Second, 2 * time.Second, "m:1 UNAVAILABLE unloaded, m:2 UNAVAILABLE Internal: no weights"},
		{"hangs", time.Hour, surplusWait, "m:1 UNLOADING, m:2 UNAVAILABLE Internal: no weights"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				release := sync.OnceFunc(func() { close(ended) })
				defer release() // also after a failure, so that the cleanup of open does not hang
				r, _, err := open(t, func(o *Options) {
					explicit(o)
					o.Backends["half"] = backendtest.Func(func(_ context.Context, s backend.Spec) (backend.Model, error) {
						if s.Version == 2 {
							return nil, errors.New("no weights")
						}
						return &backendtest.Model{Spec: s, Closing: func() {
							select {
							case <-ended:
							case <-time.After(test.closes):
							}
						}}, nil
					})
				}, dir)
				require.NoError(t, err)
				begin := time.Now()
				require.ErrorContains(t, r.Load(t.Context(), "m", infer.LoadOptions{}), "no weights")
				require.Equal(t, test.took, time.Since(begin))
				require.Equal(t, test.states, states(r))
				release()
			})
		})
	}
}
