package modelconfig

import "triton/pkg/inferencepb"

// Encode writes the configuration as text, the same bytes for the same
// configuration: fields in the schema's order, map keys sorted, defaults left out.
func Encode(cfg *inferencepb.ModelConfig) []byte { return encode(cfg) }

// MarshalJSON is the JSON form of Triton's model configuration API: proto field
// names, every primitive field present, most 64-bit integers as numbers.
func MarshalJSON(cfg *inferencepb.ModelConfig) ([]byte, error) { return marshalJSON(cfg) }
