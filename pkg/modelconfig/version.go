package modelconfig

import (
	"io/fs"

	"triton/pkg/inferencepb"
)

// VersionDir is one subdirectory of a model that is a candidate for a version.
type VersionDir struct {
	Name   string
	Number int64
	// Ignored is Triton's warning when the directory is not a version; empty
	// when it is one.
	Ignored string
}

// Versions lists the candidates among a model directory's entries.
func Versions(dir fs.FS) ([]VersionDir, error) { return versions(dir) }

// Select picks the versions that a policy serves among those present, highest
// first. Missing are the ones that a specific policy names in vain.
func Select(policy *inferencepb.ModelVersionPolicy, present []int64) (chosen, missing []int64) {
	return selectVersions(policy, present)
}
