// Package cache keeps responses and answers equal requests from them. A Runner
// stands in front of a model version; behind it is a Cache: Local here, or the
// one below this package that servers share.
//
// Two requests are equal when the model version is the same, whenever and wherever
// it was loaded, and the inputs, the requested outputs and the parameters are the
// same, byte for byte. What is answered from the cache is what the model answered then:
// errors are never kept.
package cache

import (
	"context"

	"triton/pkg/status"
	"triton/server/infer"
)

// Key names everything that an answer depends on. It is a cryptographic hash, so
// that nobody finds two requests with one key.
type Key [32]byte

// Cache keeps responses by key. It is safe for concurrent use.
type Cache interface {
	// Lookup fills an empty response with the parameters and outputs that are kept
	// under the key; false when there are none. The end of ctx and trouble with
	// the store are a miss too: no request waits long for its cache.
	Lookup(ctx context.Context, k Key, into *infer.Response) bool
	// Insert keeps a response, which stays the caller's. It must not block.
	// ErrExists says that the key has one already.
	Insert(k Key, resp *infer.Response) error
	// Close gives all memory back. It is the last call.
	Close() error
}

// ErrExists is the answer to an insertion that comes too late.
var ErrExists error = status.New(status.AlreadyExists, "the response is kept already")
