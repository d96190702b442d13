package instance

import (
	"fmt"
	"slices"

	"triton/pkg/inferencepb"
	"triton/server/backend"
)

// Placements lists the instances of a configuration in the order of their creation. gpus
// are the CUDA ordinals of the GPUs that this process may use.
func Placements(cfg *inferencepb.ModelConfig, gpus []int32) ([]backend.Placement, error) {
	var all []backend.Placement
	for i, group := range cfg.GetInstanceGroup() {
		name := group.GetName()
		if name == "" {
			name = fmt.Sprintf("%s_%d", cfg.GetName(), i)
		}
		kind, devices, err := devicesFor(group, gpus)
		if err != nil {
			return nil, fmt.Errorf("instance group '%s' of model '%s': %w", name, cfg.GetName(), err)
		}
		for n := range max(int(group.GetCount()), 1) {
			for _, device := range devices {
				all = append(all, backend.Placement{Name: fmt.Sprintf("%s_%d", name, n), Kind: kind, Device: device, Group: group})
			}
		}
	}
	for i := range all {
		for j := range all {
			if all[i].Kind == all[j].Kind && !all[j].Group.GetPassive() {
				all[i].Instances++
			}
		}
	}
	return all, nil
}

// devicesFor returns the kind and the devices of an instance group.
func devicesFor(group *inferencepb.ModelInstanceGroup, gpus []int32) (inferencepb.ModelInstanceGroup_Kind, []int, error) {
	kind := group.GetKind()
	if kind == inferencepb.ModelInstanceGroup_KIND_AUTO {
		kind = inferencepb.ModelInstanceGroup_KIND_CPU
		if len(gpus) > 0 {
			kind = inferencepb.ModelInstanceGroup_KIND_GPU
		}
	}
	if kind != inferencepb.ModelInstanceGroup_KIND_GPU {
		return kind, []int{0}, nil
	}
	var devices []int
	for _, d := range group.GetGpus() {
		if !slices.Contains(gpus, d) {
			return kind, nil, fmt.Errorf("GPU %d is requested but this process has %s; set kind: KIND_CPU to run on the CPU", d, listed(gpus))
		}
		devices = append(devices, int(d))
	}
	if len(devices) == 0 {
		for _, d := range gpus {
			devices = append(devices, int(d))
		}
	}
	slices.Sort(devices)
	if len(devices) == 0 {
		return kind, nil, fmt.Errorf("kind is KIND_GPU but this machine has no usable GPU; set kind: KIND_CPU to run on the CPU")
	}
	return kind, devices, nil
}

// listed formats GPUs for an error.
func listed(gpus []int32) string {
	if len(gpus) == 0 {
		return "none"
	}
	return fmt.Sprintf("%v", gpus)
}
