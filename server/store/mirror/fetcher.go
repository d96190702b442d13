package mirror

import (
	"context"
	"io"
	"os"

	"triton/server/store/remote"
)

// Fetcher returns the function with which sources get the content of a whole object, see remote.Env.
func Fetcher(cache *Cache, d *Downloader) func(context.Context, remote.Source, remote.Object) (*remote.File, error) {
	return func(ctx context.Context, from remote.Source, o remote.Object) (*remote.File, error) {
		b, err := cache.Get(ctx, want(from, o), func(ctx context.Context, f *os.File) error {
			return d.Get(ctx, from, o, f, func(int) {})
		})
		if err != nil {
			return nil, err
		}
		return fileOf(b), nil
	}
}

// Maker returns the function with which sources keep content that is made here, see remote.Env.
func Maker(cache *Cache) func(context.Context, string, func(context.Context, io.Writer) error) (*remote.File, error) {
	return func(ctx context.Context, key string, fill func(context.Context, io.Writer) error) (*remote.File, error) {
		b, err := cache.Get(ctx, Want{Key: key, Size: -1}, func(ctx context.Context, f *os.File) error { return fill(ctx, f) })
		if err != nil {
			return nil, err
		}
		return fileOf(b), nil
	}
}

func fileOf(b *Blob) *remote.File {
	return &remote.File{Path: b.Path, Size: b.Size, Digest: b.Digest, Free: b.Release}
}

// Plus returns the counters of two mirrors of one path, of which other is the later one.
func (s Stats) Plus(other Stats) Stats {
	other.Bytes += s.Bytes
	other.Seconds += s.Seconds
	other.Listings += s.Listings
	other.ListSeconds += s.ListSeconds
	other.Failures += s.Failures
	other.Retries += s.Retries
	return other
}
