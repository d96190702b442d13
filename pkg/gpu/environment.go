package gpu

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Environment says which GPUs CUDA shows to this process, and how it numbers them. NVML
// shows and numbers all GPUs in the order of their bus addresses, whatever CUDA does;
// configurations, clients and libraries use CUDA's ordinals.
//
// If the CUDA driver is available, its answer is the table. Without it the table
// follows NVIDIA's documentation of CUDA_VISIBLE_DEVICES, with one limit: by default,
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
	// Warn receives warnings about the table. It may be nil.
	Warn func(text string)
}

// Identity identifies a GPU for both CUDA and NVML. Either field may be empty.
type Identity struct {
	UUID string
	PCI  string // "domain:bus:device.function", in hexadecimal
}

// physical is a GPU as NVML lists it.
type physical struct {
	Identity
	name       string
	capability string
	divided    bool // in MIG mode: it is used by its instances alone
	// instances are its MIG instances, in their order.
	instances []migInstance
}

// migInstance is a MIG instance, by its UUID and by the older form of its name:
// MIG-<UUID of the GPU>/<GPU instance>/<compute instance>.
type migInstance struct{ uuid, path string }

// table returns the visible GPUs by CUDA ordinal, as indices of all. An ordinal whose
// GPU NVML does not list has index -1.
func (e Environment) table(all []physical) []int {
	if len(all) == 0 {
		return nil
	}
	if e.CUDA != nil {
		if known, err := e.CUDA(); err == nil {
			return match(all, known)
		}
	}
	order := byAddress(all)
	if e.Order != "PCI_BUS_ID" && e.Warn != nil && mixedKinds(all) {
		e.Warn("without the CUDA driver, the order in which CUDA numbers GPUs of different kinds is not known;  " +
			"the order of their bus addresses is assumed: set CUDA_DEVICE_ORDER=PCI_BUS_ID to be sure")
	}
	if e.Visible == nil {
		return applyMIG(all, whole(order))
	}
	return applyMIG(all, visibleGPUs(all, order, *e.Visible))
}

// match finds the devices of the CUDA driver among NVML's.
func match(all []physical, known []Identity) []int {
	table := make([]int, len(known))
	for ordinal, k := range known {
		table[ordinal] = slices.IndexFunc(all, func(p physical) bool { return p.UUID == k.UUID })
		if table[ordinal] < 0 && k.PCI != "" {
			table[ordinal] = slices.IndexFunc(all, func(p physical) bool { return address(p.PCI) == address(k.PCI) })
		}
	}
	return table
}

// address returns a bus address without the leading zeros of its domain: NVML writes
// eight digits and CUDA four.
func address(pci string) string { return strings.TrimLeft(strings.ToLower(pci), "0") }

// byAddress returns the indices of all in the order of their bus addresses, or in their
// given order if those are not known.
func byAddress(all []physical) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	if slices.ContainsFunc(all, func(p physical) bool { return p.PCI == "" }) {
		return order
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := address(all[a].PCI), address(all[b].PCI)
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) // the domain may be longer
	})
	return order
}

func mixedKinds(all []physical) bool {
	return slices.ContainsFunc(all, func(p physical) bool { return p.name != all[0].name })
}

// choice is a GPU, or a MIG instance of one.
type choice struct {
	index int
	part  bool
}

func whole(order []int) []choice {
	choices := make([]choice, len(order))
	for i, index := range order {
		choices[i].index = index
	}
	return choices
}

// visibleGPUs parses CUDA_VISIBLE_DEVICES. The list ends before the first entry that
// matches no GPU, more than one, or one that was listed before.
func visibleGPUs(all []physical, order []int, visible string) []choice {
	var choices []choice
	seen := map[string]bool{}
	for entry := range strings.SplitSeq(visible, ",") {
		c, uuid := find(all, order, strings.TrimSpace(entry))
		if uuid == "" || seen[uuid] {
			break
		}
		seen[uuid] = true
		choices = append(choices, c)
	}
	return choices
}

// find returns the GPU that an entry names, and the UUID of the GPU or instance; the
// UUID is "" if the entry does not name exactly one.
func find(all []physical, order []int, entry string) (c choice, uuid string) {
	if n, err := strconv.Atoi(entry); err == nil {
		if n < 0 || n >= len(order) {
			return c, ""
		}
		return choice{index: order[n]}, all[order[n]].UUID
	}
	if entry == "" { // a MIG instance whose path is unknown would match it
		return c, ""
	}
	found := 0
	take := func(index int, id string, part, whole bool) {
		if whole || len(entry) > len("GPU-") && strings.HasPrefix(id, entry) {
			c, uuid = choice{index, part}, id
			found++
		}
	}
	for i, p := range all {
		take(i, p.UUID, false, p.UUID == entry)
		for _, m := range p.instances {
			take(i, m.uuid, true, m.path == entry || m.uuid == entry)
		}
	}
	if found != 1 {
		return choice{}, ""
	}
	return c, uuid
}

// applyMIG applies CUDA's rules for GPUs in MIG mode: such a GPU stands for the first
// of its instances, a process that sees an instance sees nothing else, and a GPU in MIG
// mode without instances cannot be used.
func applyMIG(all []physical, choices []choice) []int {
	var table []int
	for _, c := range choices {
		switch p := all[c.index]; {
		case c.part || len(p.instances) > 0:
			return []int{c.index}
		case !p.divided:
			table = append(table, c.index)
		}
	}
	return table
}
