package modelconfig

import (
	"errors"
	"io/fs"

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

func normalize(*inferencepb.ModelConfig)                   {}
func normalizeGroups(*inferencepb.ModelConfig, Machine)    {}
func detect(*inferencepb.ModelConfig, string, fs.FS) error { return errUnfinished }
func versions(fs.FS) ([]VersionDir, error)                 { return nil, errUnfinished }
func selectVersions(*inferencepb.ModelVersionPolicy, []int64) (chosen, missing []int64) {
	return nil, nil
}
