package gpu

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Environment describes which GPUs CUDA shows to this process, and how it numbers them.
// NVML lists and numbers all GPUs in the order of their bus addresses; configurations,
// clients and libraries use CUDA's ordinals.
//
// If the CUDA driver is available, the GPUs and their ordinals are those it reports.
// Without it they follow NVIDIA's documentation of CUDA_VISIBLE_DEVICES, with one limit: by default,
// which is CUDA_DEVICE_ORDER=FASTEST_FIRST, the driver numbers the GPU first that it
// considers the fastest. Without the driver that is unknown for GPUs of different
// kinds; they are then numbered by their addresses, as with
// CUDA_DEVICE_ORDER=PCI_BUS_ID, and Warn is called.
type Environment struct {
	// Visible is CUDA_VISIBLE_DEVICES. Nil means that it is not set, which
	// shows all GPUs; the empty text shows none.
	Visible *string
	// Order is CUDA_DEVICE_ORDER; empty if it is not set.
	Order string
	// CUDA returns the driver's devices by ordinal; nil, or an error, if there
	// is no driver. It is called once, and not on machines without GPUs.
	CUDA func() ([]Identity, error)
	// Warn receives warnings about the order of the GPUs. It may be nil.
	Warn func(text string)
}

// Identity identifies a GPU for both CUDA and NVML. Either field may be empty.
type Identity struct {
	UUID string
	PCI  string // "domain:bus:device.function", in hexadecimal
}

// physicalGPU is a GPU as NVML lists it.
type physicalGPU struct {
	Identity
	name       string
	capability string
	migMode    bool // in MIG mode: it is used by its instances alone
	// instances are its MIG instances, in their order.
	instances []migInstance
}

// migInstance is a MIG instance, by its UUID and by the older form of its name:
// MIG-<UUID of the GPU>/<GPU instance>/<compute instance>.
type migInstance struct{ uuid, path string }

// table returns the visible GPUs by CUDA ordinal, as selections of all. An ordinal whose
// GPU NVML does not list has index -1.
func (e Environment) table(all []physicalGPU) []selection {
	if len(all) == 0 {
		return nil
	}
	if e.CUDA != nil {
		if known, err := e.CUDA(); err == nil {
			return matchDevices(all, known)
		}
	}
	order := byAddress(all)
	if e.Order != "PCI_BUS_ID" && e.Warn != nil && mixedKinds(all) {
		e.Warn("without the CUDA driver, the order in which CUDA numbers GPUs of different kinds is not known; " +
			"the order of their bus addresses is assumed: set CUDA_DEVICE_ORDER=PCI_BUS_ID to be sure")
	}
	if e.Visible == nil {
		return applyMIG(all, wholeGPUs(order))
	}
	return applyMIG(all, visibleGPUs(all, order, *e.Visible))
}

// matchDevices finds the devices of the CUDA driver among NVML's.
func matchDevices(all []physicalGPU, known []Identity) []selection {
	table := make([]selection, len(known))
	for ordinal, k := range known {
		index, instance := -1, ""
		for i, p := range all {
			if p.UUID == k.UUID {
				index = i
			}
			for _, m := range p.instances {
				// CUDA's UUIDs of instances have the same digits, but may not say MIG.
				if digits, ok := strings.CutPrefix(m.uuid, "MIG-"); ok && strings.HasSuffix(k.UUID, digits) {
					index, instance = i, m.uuid
				}
			}
		}
		if index < 0 && k.PCI != "" {
			index = slices.IndexFunc(all, func(p physicalGPU) bool { return address(p.PCI) == address(k.PCI) })
		}
		table[ordinal] = selection{index, instance}
	}
	return table
}

// address returns a bus address without the leading zeros of its domain: NVML writes
// eight digits and CUDA four.
func address(pci string) string { return strings.TrimLeft(strings.ToLower(pci), "0") }

// byAddress returns the indices of all in the order of their bus addresses, or in their
// given order if those are not known.
func byAddress(all []physicalGPU) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	if slices.ContainsFunc(all, func(p physicalGPU) bool { return p.PCI == "" }) {
		return order
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := address(all[a].PCI), address(all[b].PCI)
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) // the domain may be longer
	})
	return order
}

func mixedKinds(all []physicalGPU) bool {
	return slices.ContainsFunc(all, func(p physicalGPU) bool { return p.name != all[0].name })
}

// selection is a GPU, or a MIG instance of one.
type selection struct {
	index    int
	instance string // its UUID; empty: the whole GPU
}

func wholeGPUs(order []int) []selection {
	selected := make([]selection, len(order))
	for i, index := range order {
		selected[i].index = index
	}
	return selected
}

// visibleGPUs parses CUDA_VISIBLE_DEVICES. The list ends before the first entry that
// matches no GPU, more than one, or one that was listed before.
func visibleGPUs(all []physicalGPU, order []int, visible string) []selection {
	var selected []selection
	seen := map[string]bool{}
	for entry := range strings.SplitSeq(visible, ",") {
		s, uuid := findGPU(all, order, strings.TrimSpace(entry))
		if uuid == "" || seen[uuid] {
			break
		}
		seen[uuid] = true
		selected = append(selected, s)
	}
	return selected
}

// findGPU returns the GPU that an entry names, and the UUID of the GPU or instance; the
// UUID is "" if the entry does not name exactly one.
func findGPU(all []physicalGPU, order []int, entry string) (s selection, uuid string) {
	if n, err := strconv.Atoi(entry); err == nil {
		if n < 0 || n >= len(order) {
			return s, ""
		}
		return selection{index: order[n]}, all[order[n]].UUID
	}
	if entry == "" { // a MIG instance whose path is unknown would match it
		return s, ""
	}
	matches := 0
	match := func(found selection, id string, equal bool) {
		if equal || len(entry) > len("GPU-") && strings.HasPrefix(id, entry) {
			s, uuid = found, id
			matches++
		}
	}
	for i, p := range all {
		match(selection{index: i}, p.UUID, p.UUID == entry)
		for _, m := range p.instances {
			match(selection{i, m.uuid}, m.uuid, m.path == entry || m.uuid == entry)
		}
	}
	if matches != 1 {
		return selection{}, ""
	}
	return s, uuid
}

// applyMIG applies CUDA's rules for GPUs in MIG mode: selecting such a GPU selects the first
// of its instances, a process that sees an instance sees nothing else, and a GPU in MIG
// mode without instances cannot be used.
func applyMIG(all []physicalGPU, selected []selection) []selection {
	var table []selection
	for _, s := range selected {
		switch p := all[s.index]; {
		case s.instance != "":
			return []selection{s}
		case len(p.instances) > 0:
			return []selection{{s.index, p.instances[0].uuid}}
		case !p.migMode:
			table = append(table, s)
		}
	}
	return table
}
