// Package restricted holds which parts of the protocol need a secret header,
// for both front ends: --http-restricted-api and --grpc-restricted-protocol.
package restricted

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

// Header is a header and the value it must have.
type Header struct{ Name, Value string }

// Rules are the headers that categories need. The zero value needs none.
type Rules struct{ need [categories]*Header }

// Needs is the header that a category needs; nil when it is open to all.
func (r *Rules) Needs(a API) *Header { return r.need[a] }
