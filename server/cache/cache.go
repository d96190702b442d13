// Package cache stores responses and answers equal requests from them. A Runner is in
// front of the runner of a model version. It stores responses in a Cache: Local, in this
// process, that of package redis, which several servers share, or that of package library.
//
// Two requests are equal if the model version is the same, whenever and wherever it was
// loaded, and the inputs, the requested outputs and the parameters are the same, byte
// for byte. Errors are never stored.
package cache

import (
	"context"

	"triton/pkg/status"
	"triton/server/infer"
)

// Key identifies everything that a response depends on. It is a cryptographic hash, so
// that no client can construct two different requests with one key.
type Key [32]byte

// Cache stores responses by key. It is safe for concurrent use.
type Cache interface {
	// Lookup fills an empty response with the parameters and outputs stored
	// under the key, and reports whether the key has a response. When ctx ends
	// or the store fails it reports false.
	Lookup(ctx context.Context, k Key, into *infer.Response) bool
	// Insert stores a response, which the caller still owns. It must not block.
	// It returns ErrExists if the key has a response already.
	Insert(k Key, resp *infer.Response) error
	// Close releases all memory. It is the last call.
	Close() error
}

// ErrExists is returned by an insertion under a key that has a response.
var ErrExists error = status.New(status.AlreadyExists, "the key has a response already")
