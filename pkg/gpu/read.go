package gpu

import "triton/pkg/gpu/nvml"

// Read returns the current values of a GPU or a MIG instance, by its UUID.
func (m *Machine) Read(d Device) Reading {
	if h := m.find(d.UUID); h != nil {
		return h.read()
	}
	return Reading{}
}

func (h *handle) read() Reading {
	var r Reading
	h.readMemory(&r)
	if b, ret := ask(h, bar1Call, nvml.Device.BAR1); ret == nvml.Success {
		r.BAR1Total, r.BAR1Used = Some(b.Total), Some(b.Used)
	}
	if u, ret := ask(h, utilizationCall, nvml.Device.Utilization); ret == nvml.Success {
		r.Utilization = Some(float64(u.GPU) / 100)
	}
	if mw, ret := ask(h, powerCall, nvml.Device.Power); ret == nvml.Success {
		r.Power = Some(float64(mw) / 1000)
	}
	if mw, ret := ask(h, powerLimitCall, nvml.Device.PowerLimit); ret == nvml.Success {
		r.PowerLimit = Some(float64(mw) / 1000)
	}
	if mj, ret := ask(h, energyCall, nvml.Device.Energy); ret == nvml.Success {
		r.Energy = Some(float64(mj) / 1000)
	}
	r.Lost = h.lost.Load()
	return r
}

// Memory returns the memory of a GPU or a MIG instance alone, which is quicker than Read.
func (m *Machine) Memory(d Device) Reading {
	var r Reading
	if h := m.find(d.UUID); h != nil {
		h.readMemory(&r)
		r.Lost = h.lost.Load()
	}
	return r
}

// readMemory prefers the second form, which reports the driver's own memory separately.
// Drivers disagree whether its Used contains that, so Used is computed.
func (h *handle) readMemory(r *Reading) {
	if m, ret := ask(h, memoryV2Call, nvml.Device.MemoryV2); ret == nvml.Success && m.Reserved <= m.Total && m.Free <= m.Total-m.Reserved {
		r.MemoryTotal, r.MemoryReserved, r.MemoryFree = Some(m.Total), Some(m.Reserved), Some(m.Free)
		r.MemoryUsed = Some(m.Total - m.Reserved - m.Free)
		return
	}
	if m, ret := ask(h, memoryCall, nvml.Device.Memory); ret == nvml.Success {
		r.MemoryTotal, r.MemoryFree, r.MemoryUsed = Some(m.Total), Some(m.Free), Some(m.Used)
	}
}
