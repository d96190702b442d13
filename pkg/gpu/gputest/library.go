package gputest

import "triton/pkg/gpu/nvml"

// Init implements nvml.Library.
func (s *Simulator) Init() nvml.Return {
	s.mu.Lock()
	defer s.mu.Unlock()
	ret := s.enter("", "Init")
	if ret == nvml.Success {
		s.started++
	}
	return ret
}

// Shutdown implements nvml.Library.
func (s *Simulator) Shutdown() nvml.Return {
	s.mu.Lock()
	defer s.mu.Unlock()
	ret := s.enter("", "Shutdown")
	s.started--
	return ret
}

// DriverVersion implements nvml.Library.
func (s *Simulator) DriverVersion() (string, nvml.Return) {
	return fixed(s, "", "DriverVersion", "550.54.15")
}

// NVMLVersion implements nvml.Library.
func (s *Simulator) NVMLVersion() (string, nvml.Return) {
	return fixed(s, "", "NVMLVersion", "12.550.54.15")
}

// CUDAVersion implements nvml.Library.
func (s *Simulator) CUDAVersion() (int, nvml.Return) { return fixed(s, "", "CUDAVersion", 12040) }

// DeviceCount implements nvml.Library.
func (s *Simulator) DeviceCount() (int, nvml.Return) {
	return fixed(s, "", "DeviceCount", len(s.gpus))
}

// Device implements nvml.Library.
func (s *Simulator) Device(index int) (nvml.Device, nvml.Return) {
	return answer(s, "", "Device", func() (nvml.Device, nvml.Return) {
		if index < 0 || index >= len(s.gpus) {
			return nil, nvml.InvalidArgument
		}
		// A device can also be made to fail alone.
		if f := s.failures[s.gpus[index].uuid+"\x00Device"]; f != nil && f.left != 0 {
			f.left = max(f.left-1, -1)
			return nil, f.ret
		}
		return s.gpus[index], nvml.Success
	})
}

// ProcessName implements nvml.Library.
func (s *Simulator) ProcessName(pid int) (string, nvml.Return) {
	return answer(s, "", "ProcessName", func() (string, nvml.Return) {
		if name, ok := s.names[pid]; ok {
			return name, nvml.Success
		}
		return "", nvml.NotFound
	})
}
