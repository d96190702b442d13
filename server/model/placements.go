package model

import (
	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/instance"
)

// placements returns where the instances of a version run. It returns an error if one is for
// a GPU whose memory use exceeds the limit.
func (b *Builder) placements(c *inferencepb.ModelConfig) ([]backend.Placement, error) {
	all, err := instance.Placements(c, b.opts.Machine.GPUs)
	if err != nil {
		return nil, err
	}
	b.bind(all, c)
	for _, p := range all {
		limit, limited := b.opts.GPULimits[p.Device]
		if p.Kind != inferencepb.ModelInstanceGroup_KIND_GPU || !limited || b.opts.GPUUsage == nil {
			continue
		}
		used, err := b.opts.GPUUsage(p.Device)
		if err != nil {
			return nil, status.New(status.Internal, "reading the memory use of GPU %d: %w", p.Device, err)
		}
		if used > limit {
			return nil, status.New(status.Unavailable,
				"can not create model '%s': memory limit set for GPU %d has exceeded, model loading is rejected.", p.Name, p.Device)
		}
	}
	return all, nil
}
