package gputest

import "triton/pkg/gpu/nvml"

// MIGMode implements nvml.Device.
func (d *device) MIGMode() (current, pending bool, ret nvml.Return) {
	v, ret := answer(d.s, d.uuid, "MIGMode", func() ([2]bool, nvml.Return) {
		if d.instance != nil || d.spec.MIG == nil {
			return [2]bool{}, nvml.NotSupported
		}
		now := !d.spec.MIG.Disabled
		return [2]bool{now, now != d.spec.MIG.Pending}, nvml.Success
	})
	return v[0], v[1], ret
}

// MaxMIGDevices implements nvml.Device: some more than there are.
func (d *device) MaxMIGDevices() (int, nvml.Return) {
	return fixed(d.s, d.uuid, "MaxMIGDevices", len(d.instances)+2)
}

// MIGDevice implements nvml.Device.
func (d *device) MIGDevice(index int) (nvml.Device, nvml.Return) {
	return answer(d.s, d.uuid, "MIGDevice", func() (nvml.Device, nvml.Return) {
		if index < 0 || index >= len(d.instances) || d.instances[index] == nil {
			return nil, nvml.NotFound
		}
		return d.instances[index], nvml.Success
	})
}

// ofInstance is a value that only MIG devices have.
func ofInstance[T any](d *device, call string, value func(Instance) T) (T, nvml.Return) {
	return answer(d.s, d.uuid, call, func() (T, nvml.Return) {
		if d.instance == nil {
			var none T
			return none, nvml.InvalidArgument
		}
		return value(*d.instance), nvml.Success
	})
}

// GPUInstance implements nvml.Device.
func (d *device) GPUInstance() (int, nvml.Return) {
	return ofInstance(d, "GPUInstance", func(i Instance) int { return i.GPUInstance })
}

// ComputeInstance implements nvml.Device.
func (d *device) ComputeInstance() (int, nvml.Return) {
	return ofInstance(d, "ComputeInstance", func(i Instance) int { return i.ComputeInstance })
}

// Attributes implements nvml.Device.
func (d *device) Attributes() (nvml.Attributes, nvml.Return) {
	return ofInstance(d, "Attributes", func(i Instance) nvml.Attributes {
		return nvml.Attributes{
			MemoryMB: i.MemoryMB, Multiprocessors: uint32(i.Multiprocessors),
			GPUSlices: uint32(i.Slices), ComputeSlices: uint32(i.ComputeSlices),
		}
	})
}

// InstanceProfile implements nvml.Device.
func (d *device) InstanceProfile(number int) (nvml.InstanceProfile, nvml.Return) {
	return answer(d.s, d.uuid, "InstanceProfile", func() (nvml.InstanceProfile, nvml.Return) {
		if d.spec.MIG == nil {
			return nvml.InstanceProfile{}, nvml.NotSupported
		}
		all := d.spec.MIG.Profiles
		if all == nil {
			all = a100
		}
		if p, ok := all[number]; ok {
			return p, nvml.Success
		}
		return nvml.InstanceProfile{}, nvml.NotSupported
	})
}

// a100 are the profiles of an A100 with 40 GB by their numbers in NVML (NVML_GPU_INSTANCE_PROFILE_*). An old driver
// does not report their names, except for the one with media extensions.
var a100 = map[int]nvml.InstanceProfile{
	0: {ID: 19, Slices: 1, Instances: 7, Multiprocessors: 14, MemoryMB: 4864},
	1: {ID: 14, Slices: 2, Instances: 3, Multiprocessors: 28, MemoryMB: 9856},
	2: {ID: 9, Slices: 3, Instances: 2, Multiprocessors: 42, MemoryMB: 19968},
	3: {ID: 5, Slices: 4, Instances: 1, Multiprocessors: 56, MemoryMB: 19968},
	4: {ID: 0, Slices: 7, Instances: 1, Multiprocessors: 98, MemoryMB: 40192},
	7: {ID: 20, Name: "MIG 1g.5gb+me", Slices: 1, Instances: 1, Multiprocessors: 14, MemoryMB: 4864},
	9: {ID: 15, Slices: 1, Instances: 4, Multiprocessors: 14, MemoryMB: 9856},
}
