package analyze

import (
	"fmt"
	"maps"
	"slices"

	"triton/analyzer/memory"
	"triton/analyzer/memory/footprint"
	"triton/pkg/gpu"
)

// fitResult is what is predicted.
type fitResult struct {
	Rows    []fitRow       `json:"rows"`
	Packing []fitPlacement `json:"packing,omitempty"`
	// Unfit lists the models that fit on no device.
	Unfit []string `json:"unfit,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

// fitRow is a model on a device.
type fitRow struct {
	Model   string `json:"model"`
	Device  string `json:"device"`
	Usable  uint64 `json:"usable"`
	Fits    *int   `json:"k_mem,omitempty"` // absent if memory does not limit
	Useful  int    `json:"k_perf,omitempty"`
	Status  string `json:"status"`
	Whole   int    `json:"k_whole_gpu,omitempty"` // of a MIG profile: on all its instances
	Slices  int    `json:"slices,omitempty"`      // of the MIG profile; 0 for a whole device
	Best    bool   `json:"best,omitempty"`        // of the profiles
	Missing uint64 `json:"shortfall,omitempty"`   // bytes, where not even one instance fits
}

type fitPlacement struct {
	Device    string         `json:"device"`
	Instances map[string]int `json:"instances"`
	Bytes     uint64         `json:"bytes"`
}

// profileAllowance is the part of a MIG profile's memory that is not counted on.
const profileAllowance = 64 << 20

// lawOf returns what a report knows of a model's memory on devices, or on the host if it has none
// there.
func lawOf(m memory.DocumentModel) (footprint.Place, memory.PackedModel, error) {
	places := slices.Sorted(maps.Keys(m.Fit))
	i := slices.IndexFunc(places, func(p footprint.Place) bool { return p != footprint.Host })
	switch {
	case len(places) == 0:
		return "", memory.PackedModel{}, fmt.Errorf("the report of %s has no law of its memory: it takes three instance counts and a repeat", m.Name)
	case i < 0:
		i = 0
	}
	fit := m.Fit[places[i]]
	out := memory.PackedModel{
		Name: m.Name, Base: fit.AlphaHi, PerInstance: fit.BetaHi, Server: float64(m.Baseline[places[i]]),
		Useful: m.Answer.UsefulCount(), Throughput: map[int]float64{},
	}
	if !costsMemory(m, places[i]) {
		out.PerInstance = 0
	}
	for _, a := range m.Anchors {
		if a.Throughput > 0 {
			out.Throughput[a.Instances] = max(out.Throughput[a.Instances], a.Throughput)
		}
	}
	return places[i], out, nil
}

// costsMemory reports whether instances cost memory at a place that can be told from the noise.
func costsMemory(m memory.DocumentModel, place footprint.Place) bool {
	return slices.ContainsFunc(m.Capacity, func(c memory.DocumentCapacity) bool { return c.Device == place && c.Instances != nil })
}

func predictFit(models []memory.DocumentModel, devices []fitTarget, headroom func(uint64) uint64) (*fitResult, error) {
	r := &fitResult{}
	var laws []memory.PackedModel
	for _, m := range models {
		place, l, err := lawOf(m)
		if err != nil {
			return nil, err
		}
		laws = append(laws, l)
		on := devices
		if place == footprint.Host {
			if len(devices) > 0 {
				r.Notes = append(r.Notes, fmt.Sprintf("%s was measured on the host: its host memory is compared with the devices", m.Name))
			} else {
				on = hostTargets(m)
			}
		}
		if len(on) == 0 {
			return nil, fmt.Errorf("no device is known for %s: name one with --assume-device", m.Name)
		}
		fits := false
		for _, d := range on {
			fits = r.device(l, d, headroom, string(place)) || fits
		}
		if !fits {
			r.Unfit = append(r.Unfit, m.Name)
		}
	}
	if len(models) > 1 {
		r.pack(laws, devices, models, headroom)
	}
	return r, nil
}

// hostTargets returns the host as it was when the model was measured.
func hostTargets(m memory.DocumentModel) []fitTarget {
	var all []fitTarget
	for _, c := range m.Capacity {
		if c.Device == footprint.Host {
			all = append(all, fitTarget{name: "host", usable: c.Usable, uuid: string(footprint.Host)})
		}
	}
	return all
}

// device adds the rows of a model on a device, and reports whether it fits.
func (r *fitResult) device(m memory.PackedModel, d fitTarget, headroom func(uint64) uint64, measured string) bool {
	add := func(name string, usable uint64, p gpu.Profile) int {
		row := fitRow{Model: m.Name, Device: name, Usable: usable, Useful: m.Useful, Status: string(footprint.Predicted), Slices: p.Slices}
		free := float64(usable) - float64(headroom(usable))
		n, limited := memory.InstancesThatFit(m, free, d.uuid != measured)
		if limited {
			row.Fits = &n
			row.Whole = n * p.Instances
		}
		if one := m.Base + m.PerInstance; one > free {
			row.Missing, row.Status = uint64(one-free), string(footprint.Unfit)
		}
		r.Rows = append(r.Rows, row)
		return len(r.Rows) - 1
	}
	whole := add(d.name, d.usable, gpu.Profile{})
	best := -1
	for _, p := range d.profiles {
		i := add(d.name+":"+p.Name, p.Memory-min(p.Memory, profileAllowance), p)
		if r.Rows[i].Missing == 0 && (best < 0 || betterRow(r.Rows[i], r.Rows[best])) {
			best = i
		}
	}
	if best >= 0 {
		r.Rows[best].Best = true
	}
	return r.Rows[whole].Missing == 0
}

// betterRow prefers the profile that holds more instances on the whole GPU, then that with fewer slices.
func betterRow(a, b fitRow) bool {
	if a.Whole != b.Whole {
		return a.Whole > b.Whole
	}
	return a.Slices < b.Slices
}

// pack places all models on the devices together.
func (r *fitResult) pack(laws []memory.PackedModel, devices []fitTarget, models []memory.DocumentModel, headroom func(uint64) uint64) {
	if len(devices) == 0 {
		devices = hostTargets(models[0])
	}
	var room []memory.PackedDevice
	for _, d := range devices {
		room = append(room, memory.PackedDevice{Name: d.name, Bytes: float64(d.usable) - float64(headroom(d.usable))})
	}
	all, left := memory.PackSeveral(laws, room)
	for _, p := range all {
		out := fitPlacement{Device: p.Device, Instances: map[string]int{}, Bytes: uint64(p.Bytes)}
		for i, k := range p.Counts {
			if k > 0 {
				out.Instances[laws[i].Name] = k
			}
		}
		r.Packing = append(r.Packing, out)
	}
	for _, name := range left {
		r.Notes = append(r.Notes, name+" does not fit beside the others")
	}
}
