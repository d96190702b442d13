package modelconfig

import (
	"google.golang.org/protobuf/encoding/protojson"
	"triton/pkg/inferencepb"
)

// MarshalJSON is the JSON form of Triton's model configuration API: proto field
// names, every primitive field present, most 64-bit integers as numbers.
func MarshalJSON(cfg *inferencepb.ModelConfig) ([]byte, error) {
	return protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(cfg)
}
