// Package restricted holds which parts of the protocol need a secret header,
// for both front ends: --http-restricted-api and --grpc-restricted-protocol.
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

// String is the category's name on the command line.
func (a API) String() string {
	if a < categories {
		return names[a]
	}
	return "unknown"
}

// Header is a header and the value it must have.
type Header struct{ Name, Value string }

// Allows says whether a request whose header has this value may pass; an empty
// value stands for a missing header, and no rule takes it. The time it takes
// tells nothing of the secret.
func (h *Header) Allows(value string) bool {
	want, got := sha256.Sum256([]byte(h.Value)), sha256.Sum256([]byte(value))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// Rules are the headers that categories need. The zero value needs none.
type Rules struct{ need [categories]*Header }

// Needs is the header that a category needs; nil when it is open to all.
func (r *Rules) Needs(a API) *Header { return r.need[a] }
