package mirror

import (
	"context"
	"io"
	"log/slog"
	"os"

	"triton/server/store/remote"
)

// Env returns what sources get from this process, with content in a cache.
func Env(getenv func(name string) string, log *slog.Logger, cache *Cache, d *Downloader) remote.Env {
	get := func(ctx context.Context, w Want, fill func(ctx context.Context, f *os.File) error) (*remote.File, error) {
		b, err := cache.Get(ctx, w, fill)
		if err != nil {
			return nil, err
		}
		return &remote.File{Path: b.Path, Size: b.Size, Digest: b.Digest, Free: b.Release}, nil
	}
	return remote.Env{
		Getenv: getenv, Log: log,
		Fetch: func(ctx context.Context, from remote.Source, o remote.Object) (*remote.File, error) {
			return get(ctx, want(from, o), func(ctx context.Context, f *os.File) error { return d.Get(ctx, from, o, f, func(int) {}) })
		},
		Make: func(ctx context.Context, key string, fill func(context.Context, io.Writer) error) (*remote.File, error) {
			return get(ctx, Want{Key: key, Size: -1}, func(ctx context.Context, f *os.File) error { return fill(ctx, f) })
		},
	}
}
