package frontend

import (
	"crypto/sha256"
	"crypto/subtle"
)

// Category is a category of calls that may need a secret header.
type Category uint8

// The categories.
const (
	HealthCalls Category = iota
	MetadataCalls
	InferenceCalls
	SharedMemoryCalls
	ModelConfigCalls
	ModelRepositoryCalls
	StatisticsCalls
	TraceCalls
	LoggingCalls
	categories
)

var categoryNames = [categories]string{
	HealthCalls: "health", MetadataCalls: "metadata", InferenceCalls: "inference", SharedMemoryCalls: "shared-memory",
	ModelConfigCalls: "model-config", ModelRepositoryCalls: "model-repository", StatisticsCalls: "statistics",
	TraceCalls: "trace", LoggingCalls: "logging",
}

// String returns the category's name on the command line.
func (a Category) String() string {
	if a < categories {
		return categoryNames[a]
	}
	return "unknown"
}

// SecretHeader is a header with the value that it must have.
type SecretHeader struct{ Name, Value string }

// Allows reports whether a request with this value of the header may pass, in constant
// time. A missing header, "", never may.
func (h *SecretHeader) Allows(value string) bool {
	want, got := sha256.Sum256([]byte(h.Value)), sha256.Sum256([]byte(value))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// Restrictions are the headers that categories need: those of the options --http-restricted-api and
// --grpc-restricted-protocol. The zero value restricts nothing.
type Restrictions struct{ need [categories]*SecretHeader }

// Needs returns the header that a category needs, or nil.
func (r *Restrictions) Needs(a Category) *SecretHeader { return r.need[a] }
