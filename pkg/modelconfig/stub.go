package modelconfig

import (
	"errors"
	"io/fs"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"

	"triton/pkg/inferencepb"
)

var errUnfinished = errors.New("not built yet")

// PreferredGroup is an instance group that a backend asks for.
type PreferredGroup struct {
	Kind  inferencepb.ModelInstanceGroup_Kind
	Count int32
	GPUs  []int32
}

type validator struct {
	c     *Config
	found []Finding
}

func newValidator(c *Config) *validator     { return &validator{c: c} }
func (v *validator) config()                {}
func (v *validator) io()                    {}
func (v *validator) instanceGroups(Machine) {}

func parse(file string, src []byte) (*Config, error) {
	c := New(file, &inferencepb.ModelConfig{})
	return c, prototext.Unmarshal(src, c.ModelConfig)
}
func normalize(*inferencepb.ModelConfig)                   {}
func normalizeGroups(*inferencepb.ModelConfig, Machine)    {}
func detect(*inferencepb.ModelConfig, string, fs.FS) error { return errUnfinished }
func versions(fs.FS) ([]VersionDir, error)                 { return nil, errUnfinished }
func selectVersions(*inferencepb.ModelVersionPolicy, []int64) (chosen, missing []int64) {
	return nil, nil
}
func encode(cfg *inferencepb.ModelConfig) []byte {
	b, _ := prototext.MarshalOptions{Multiline: true}.Marshal(cfg)
	return b
}
func marshalJSON(cfg *inferencepb.ModelConfig) ([]byte, error) {
	return protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(cfg)
}
