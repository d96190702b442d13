package remotetest

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/store/mirror"
	"triton/server/store/remote"
)

// CacheEnv returns what sources get from the server, over a cache folder, with short pauses.
func CacheEnv(t testing.TB, cacheDir string, variables map[string]string) remote.Env {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	c, err := mirror.OpenCache(mirror.CacheOptions{Dir: cacheDir, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	d := mirror.NewDownloader(mirror.DownloadOptions{PartSize: 256 << 10, Silence: 300 * time.Millisecond, FirstPause: time.Millisecond, MaxPause: 10 * time.Millisecond})
	return mirror.Env(func(name string) string { return variables[name] }, log, c, d)
}

// Contents lists a source, reads all of its files through the cache and returns their texts by name.
func Contents(ctx context.Context, env remote.Env, s remote.Source) (map[string]string, error) {
	objects, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, o := range objects {
		if o.Size == 0 && o.Digest == "" {
			all[o.Name] = ""
			continue
		}
		f, err := env.Fetch(ctx, s, o)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(f.Path)
		f.Free()
		if err != nil {
			return nil, err
		}
		all[o.Name] = string(text)
	}
	return all, nil
}
