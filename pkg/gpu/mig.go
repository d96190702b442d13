package gpu

import (
	"fmt"
	"math"
	"strings"

	"triton/pkg/gpu/nvml"
)

// readMIG lists the MIG devices of a GPU in MIG mode. They need not be numbered without
// gaps.
func (g *gpu) readMIG(d nvml.Device) {
	current, pending, ret := d.MIGMode()
	if ret == nvml.Unknown {
		current, pending, ret = d.MIGMode()
	}
	if ret != nvml.Success {
		return
	}
	g.hasMIG, g.migMode, g.pending = true, current, pending
	if !current {
		return
	}
	for i := range known(d.MaxMIGDevices).Value {
		m, ret := once(func() (nvml.Device, nvml.Return) { return d.MIGDevice(i) })
		if ret != nvml.Success {
			continue
		}
		uuid, ret := once(m.UUID)
		if ret != nvml.Success {
			continue
		}
		one, h := migInstance{uuid: uuid}, &handle{dev: m, isMIG: true, gpuInstance: unknownInstance, computeInstance: unknownInstance}
		gi, ci := known(m.GPUInstance), known(m.ComputeInstance)
		if gi.Known && ci.Known {
			one.path = fmt.Sprintf("MIG-%s/%d/%d", g.UUID, gi.Value, ci.Value)
			h.gpuInstance, h.computeInstance = gi.Value, ci.Value
		}
		g.instances, g.devices = append(g.instances, one), append(g.devices, h)
	}
}

// unknownInstance is the number of an instance that the driver does not tell.
const unknownInstance = -1

// profileName returns the name that NVIDIA's tools give a kind of instance, such as
// "1g.10gb": the slices, and the memory as eighths of the GPU's memory in GiB.
func profileName(total uint64, slices int, memoryMB uint64) string {
	const mib, gib = 1 << 20, 1 << 30
	if slices == 0 || memoryMB == 0 {
		return ""
	}
	gigabytes := math.Ceil(float64(memoryMB) / 1024)
	if total > 0 {
		eighths := math.Ceil(8 * float64(memoryMB) * mib / float64(total))
		gigabytes = math.Round(eighths / 8 * math.Ceil(float64(total)/gib))
	}
	return fmt.Sprintf("%dg.%.0fgb", slices, gigabytes)
}

// Profile is a kind of GPU instance that a GPU can be divided into.
type Profile struct {
	Name            string `json:"name"`
	ID              int    `json:"id"`
	Slices          int    `json:"slices"`
	Instances       int    `json:"instances"` // how many fit on an empty GPU
	Multiprocessors int    `json:"multiprocessors"`
	Memory          uint64 `json:"memory"` // bytes
}

// profiles returns the kinds of instances of a GPU.
func profiles(d nvml.Device, total uint64) []Profile {
	var all []Profile
	for n := range nvml.InstanceProfiles {
		p, ret := once(func() (nvml.InstanceProfile, nvml.Return) { return d.InstanceProfile(n) })
		if ret != nvml.Success {
			continue // the number is of another kind of GPU
		}
		name := strings.TrimPrefix(p.Name, "MIG ")
		if name == "" {
			name = profileName(total, p.Slices, p.MemoryMB)
		}
		all = append(all, Profile{name, p.ID, p.Slices, p.Instances, p.Multiprocessors, p.MemoryMB << 20})
	}
	return all
}
