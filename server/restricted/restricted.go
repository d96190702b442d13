// Package restricted says which categories of calls need a secret header, for the
// options --http-restricted-api and --grpc-restricted-protocol.
package restricted

import (
	"crypto/sha256"
	"crypto/subtle"
)

// API is a category of calls.
type API uint8

// The categories.
const (
	Health API = iota
	Metadata
	Inference
	SharedMemory
	ModelConfig
	ModelRepository
	Statistics
	Trace
	Logging
	categories
)

var names = [categories]string{
	Health: "health", Metadata: "metadata", Inference: "inference", SharedMemory: "shared-memory",
	ModelConfig: "model-config", ModelRepository: "model-repository", Statistics: "statistics",
	Trace: "trace", Logging: "logging",
}

// String returns the category's name on the command line.
func (a API) String() string {
	if a < categories {
		return names[a]
	}
	return "unknown"
}

// Header is a header with the value that it must have.
type Header struct{ Name, Value string }

// Allows reports whether a request with this value of the header may pass, in constant
// time. A missing header, "", never may.
func (h *Header) Allows(value string) bool {
	want, got := sha256.Sum256([]byte(h.Value)), sha256.Sum256([]byte(value))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// Rules are the headers that categories need. The zero value restricts nothing.
type Rules struct{ need [categories]*Header }

// Needs returns the header that a category needs, or nil.
func (r *Rules) Needs(a API) *Header { return r.need[a] }
