package model

import (
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/server/backend"
)

// frozen is the reference count of a version that RetireIdle examines: no request can take a
// reference.
const frozen = math.MinInt64 / 2

// RetireIdle releases the repository's reference to all versions if none of them works: no request
// holds one, and no sequence is open. Otherwise it changes nothing and returns false. Requests that
// come meanwhile find the versions closed, as after Retire.
func RetireIdle(all []*LoadedVersion) bool {
	for i, v := range all {
		if v.retired.Load() || !v.refs.CompareAndSwap(1, frozen) {
			thaw(all[:i])
			return false
		}
		if v.sequences != nil && v.sequences.SlotsInUse() > 0 {
			thaw(all[:i+1])
			return false
		}
	}
	for _, v := range all {
		v.retired.Store(true)
		v.refs.Store(0)
		close(v.drained)
	}
	return true
}

func thaw(all []*LoadedVersion) {
	for _, v := range all {
		v.refs.Store(1)
	}
}

// Residency returns the settings for loading on demand.
func (v *LoadedVersion) Residency() extension.Residency { return v.extensions.Residency }

// Memory returns the memory that the backend reports.
func (v *LoadedVersion) Memory() []backend.Memory {
	if v.group == nil || v.replaced.Load() { // its successor reports it
		return nil
	}
	return v.group.Memory()
}

// Processes returns the IDs of the processes that instances have of their own.
func (v *LoadedVersion) Processes() []int {
	if v.group == nil {
		return nil
	}
	return v.group.Processes()
}

// LoadTime returns how long the load took.
func (v *LoadedVersion) LoadTime() time.Duration {
	return time.Duration(v.loadSeconds * float64(time.Second))
}

// Preview returns a configuration as a load would complete it, as far as that is possible without
// reading the model: the instance groups are completed, fields that the backend finds in its model
// are not.
func (b *Builder) Preview(c *modelconfig.Config, dirs ...string) *inferencepb.ModelConfig {
	copied := *c
	copied.ModelConfig = proto.CloneOf(c.ModelConfig)
	if copied.GetEnsembleScheduling() != nil {
		return copied.ModelConfig
	}
	if found, err := b.findBackend(&copied, dirs...); err == nil {
		_ = b.completeInstanceGroups(found.Backend, &copied) // the load reports mistakes
	}
	return copied.ModelConfig
}
