// How much GPU memory a server has on each device is read here. The driver offers several figures, none of which is
// always there: the peak that accounting recorded, the memory of the server's processes, and the rise of the whole
// device since before. Those that can be read are compared, and the largest counts.

package meter

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"triton/pkg/gpu"
)

// Source is where a figure is from, best first.
type Source string

// The sources.
const (
	Accounting  Source = "accounting: the driver's record of the peak"
	Processes   Source = "memory of the server's processes"
	WholeDevice Source = "memory taken since the start, whole device"
	NoSource    Source = "none"
)

const (
	// Figures of two sources agree if they differ by at most the larger of both.
	agreeBytes = 32 << 20
	agreeShare = 0.05
)

// Peaks reads the record of the driver's accounting.
type Peaks interface {
	Peak(d gpu.Device, pid int) (uint64, error)
}

// DeviceMeter reads devices. Its methods are safe for concurrent use.
type DeviceMeter struct {
	mu      sync.Mutex // guards the states
	view    gpu.View
	peaks   Peaks // nil if there is no accounting
	devices []*deviceState
}

// deviceState is what is known of one device.
type deviceState struct {
	gpu.Device        // its UUID is that of the MIG instance, if CUDA shows one
	atStart    uint64 // in use before the server
	foreign    []int  // processes before the server
	used       map[Source]bool
	disagree   string
}

// NewDeviceMeter returns a meter of the devices that CUDA shows and of which chosen, if it is not empty, has
// the UUID or the ordinal. No server may run yet.
func NewDeviceMeter(view gpu.View, chosen []string) (*DeviceMeter, error) {
	m := &DeviceMeter{view: view}
	m.peaks, _ = view.(Peaks)
	wanted := slices.Clone(chosen)
	for _, d := range view.Devices() {
		if d.Instance != "" {
			d.UUID = d.Instance
		}
		names := []string{d.UUID, fmt.Sprint(d.Index), "mig:" + d.UUID}
		if len(chosen) > 0 && !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(chosen, n) }) {
			continue
		}
		wanted = slices.DeleteFunc(wanted, func(w string) bool { return slices.Contains(names, w) })
		s := &deviceState{Device: d, used: make(map[Source]bool)}
		m.devices = append(m.devices, s)
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("device %s is not one that CUDA shows to this process", strings.Join(wanted, ", "))
	}
	m.Rooms()
	return m, nil
}

func (m *DeviceMeter) processes(s *deviceState) []gpu.Process {
	procs, err := m.view.Processes(s.Device)
	if err != nil {
		return nil
	}
	return procs
}

func pidsOf(procs []gpu.Process) []int {
	var all []int
	for _, p := range procs {
		all = append(all, p.PID)
	}
	return all
}

// DeviceRoom is the memory of a device.
type DeviceRoom struct {
	UUID    string
	Name    string
	Total   uint64
	Usable  uint64 // total without the driver's reserve and what others have
	Foreign string // the others; empty if there are none
}

// Rooms reads the devices while no server runs. What is in use then is not the next server's.
func (m *DeviceMeter) Rooms() []DeviceRoom {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []DeviceRoom
	for _, s := range m.devices {
		r := m.view.Read(s.Device)
		s.atStart, s.foreign = r.MemoryUsed.Value, pidsOf(m.processes(s))
		room := DeviceRoom{UUID: s.UUID, Name: s.Name, Total: r.MemoryTotal.Value, Usable: r.MemoryFree.Value}
		if r.MemoryReserved.Known {
			room.Usable = r.MemoryTotal.Value - min(r.MemoryTotal.Value, r.MemoryReserved.Value+r.MemoryUsed.Value)
		}
		if others := len(s.foreign); others > 0 {
			room.Foreign = fmt.Sprintf("%d other processes", others)
			if others == 1 {
				room.Foreign = fmt.Sprintf("process %d", s.foreign[0])
			}
		}
		all = append(all, room)
	}
	return all
}

// Read returns the memory of the server's processes on each device where they have any.
func (m *DeviceMeter) Read(server []int) map[string]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]uint64)
	for _, s := range m.devices {
		if bytes, ok := m.read(s, server); ok {
			out[s.UUID] = bytes
		}
	}
	return out
}

func (m *DeviceMeter) read(s *deviceState, server []int) (uint64, bool) {
	attributed, known, alone := m.attributed(s, server)
	used := m.view.Read(s.Device).MemoryUsed
	taken := used.Value - min(used.Value, s.atStart)
	alone = alone && used.Known
	switch {
	case known && alone:
		s.used[Processes] = true
		s.compare(Processes, attributed, WholeDevice, taken)
		return max(attributed, taken), true
	case known:
		s.used[Processes] = true
		return attributed, true
	case alone && taken > 0:
		s.used[WholeDevice] = true
		return taken, true
	}
	return 0, false
}

// attributed returns the memory of the server's processes. If the driver shows none of its
// processes, because it numbers them differently, those count that were not there before. alone
// reports whether nobody else is on the device.
func (m *DeviceMeter) attributed(s *deviceState, server []int) (sum uint64, known, alone bool) {
	procs := m.processes(s)
	ours := slices.DeleteFunc(slices.Clone(procs), func(p gpu.Process) bool { return !slices.Contains(server, p.PID) })
	if len(ours) == 0 {
		ours = slices.DeleteFunc(slices.Clone(procs), func(p gpu.Process) bool { return slices.Contains(s.foreign, p.PID) })
	}
	alone = len(ours) == len(procs)
	for _, p := range ours {
		if p.Memory.Known && p.Memory.Value > 0 {
			sum, known = sum+p.Memory.Value, true
		}
	}
	return sum, known, alone
}

// Peaks returns what the driver's accounting recorded of the server, where it did.
func (m *DeviceMeter) Peaks(server []int) map[string]uint64 {
	out := make(map[string]uint64)
	if m.peaks == nil {
		return out
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.devices {
		for _, pid := range server {
			if peak, err := m.peaks.Peak(s.Device, pid); err == nil && peak > 0 {
				s.used[Accounting] = true
				out[s.UUID] += peak
			}
		}
	}
	return out
}

// compare notes that two figures of the same memory disagree.
func (s *deviceState) compare(a Source, x uint64, b Source, y uint64) {
	apart := max(x, y) - min(x, y)
	if float64(apart) > max(agreeBytes, agreeShare*float64(max(x, y))) {
		s.disagree = fmt.Sprintf("%s says %d MiB, %s %d MiB", a, x>>20, b, y>>20)
	}
}

// Sources returns the best source that was used on a device, and how the sources disagreed; empty
// if they agree.
func (m *DeviceMeter) Sources(uuid string) (best Source, disagree string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.devices {
		if s.UUID != uuid {
			continue
		}
		for _, source := range []Source{Accounting, Processes, WholeDevice} {
			if s.used[source] {
				return source, s.disagree
			}
		}
	}
	return NoSource, ""
}
