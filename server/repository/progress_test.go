package repository

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/store"
)

// busyPlace is a folder that always downloads.
type busyPlace struct{ store.Place }

func (busyPlace) Activity(folder string) string { return "downloading " + folder }

// TestDownloadIsTold: the index and the report of the readiness say the same about a model whose files
// are on their way.
func TestDownloadIsTold(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"n/config.pbtxt": identity, "n/1/": ""})
	var began chan string
	var let chan error
	r, _, err := open(t, func(o *Options) {
		o.Control = ControlPoll
		o.Open = func(path string) (store.Place, error) {
			p, err := store.OpenDir(path)
			return busyPlace{p}, err
		}
		began, let = gated(o)
	}, dir)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "m/1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m/config.pbtxt"), []byte(gatedConfig), 0o644))
	done := make(chan error, 1)
	go func() { done <- r.Poll(t.Context()) }()
	<-began
	loading := r.Readiness().Start.Loading
	require.Len(t, loading, 1)
	require.Equal(t, "m", loading[0].Name)
	require.Equal(t, "downloading m", loading[0].Activity)
	require.Contains(t, indexOf(r), "m 1 LOADING downloading m")
	let <- nil
	require.NoError(t, <-done)
	require.Empty(t, r.Readiness().Start.Loading)
}
