//go:build !cgo || !linux

package library

import (
	"context"

	"triton/pkg/status"
	"triton/server/cache"
	"triton/server/infer"
)

// Cache is a cache in a library, which this build cannot open.
type Cache struct{}

var _ cache.Cache = (*Cache)(nil)

// Open refuses: this program was built without the ability to open libraries.
func Open(o Options) (*Cache, error) {
	return nil, status.New(status.Unsupported, "cannot load cache library %s: this program was built without cgo, or for another system than Linux; use the caches 'local' and 'redis', which are part of it", o.Path)
}

// Lookup always misses.
func (*Cache) Lookup(context.Context, cache.Key, *infer.Response) bool { return false }

// Insert stores nothing.
func (*Cache) Insert(cache.Key, *infer.Response) error { return nil }

// Close does nothing.
func (*Cache) Close() error { return nil }
