package profile

import (
	"fmt"
	"slices"
	"strconv"

	"triton/pkg/gpu"
)

// choose returns the devices with these names: all, or none for []. The UUID of a device is that of
// its MIG instance if the servers get only this one.
func choose(view gpu.View, names []string) ([]gpu.Device, error) {
	if len(names) == 0 || len(names) == 1 && names[0] == "[]" {
		return nil, nil
	}
	var all []candidate
	if view != nil {
		all = shown(view)
	}
	var out []gpu.Device
	if len(names) == 1 && names[0] == "all" {
		for _, c := range all {
			out = append(out, c.Device)
		}
		return out, nil
	}
	all = append(all, migInstances(view)...)
	for _, name := range names {
		i := slices.IndexFunc(all, func(c candidate) bool { return slices.Contains(c.names, name) })
		if i < 0 {
			return nil, fmt.Errorf("--gpus: this machine has no GPU %q; `triton analyze devices` lists them", name)
		}
		out = append(out, all[i].Device)
	}
	return out, nil
}

// candidate is a device that can be chosen by any of its names.
type candidate struct {
	gpu.Device
	names []string
}

// shown returns the devices that CUDA shows to this process.
func shown(view gpu.View) []candidate {
	var all []candidate
	for _, d := range view.Devices() {
		names := []string{strconv.Itoa(d.Index), d.UUID}
		if d.Instance != "" {
			d.UUID = d.Instance
		}
		all = append(all, candidate{d, names})
	}
	return all
}

// migInstances returns all MIG instances: a server may get those too that CUDA does not show to this
// process.
func migInstances(view gpu.View) []candidate {
	m, ok := view.(interface{ Inventory() gpu.Inventory })
	if !ok {
		return nil
	}
	var all []candidate
	for _, g := range m.Inventory().GPUs {
		for _, i := range g.MIG.Instances {
			names := []string{i.UUID, fmt.Sprintf("%d:%d:%d", g.Index, i.GPUInstance, i.ComputeInstance)}
			if i.Path != "" {
				names = append(names, i.Path)
			}
			d := gpu.Device{Index: i.Ordinal.Value, UUID: i.UUID, Name: g.Name, Capability: g.Capability, Instance: i.UUID}
			all = append(all, candidate{d, names})
		}
	}
	return all
}
