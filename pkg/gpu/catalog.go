package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const mib = 1 << 20

// knownGPU is what is known of an NVIDIA GPU that is not at hand: its memory and the MIG instances that it can be divided
// into. Where the GPU is at hand, what its driver says is better. Memory is in MiB, as NVML reports it.
type knownGPU struct {
	name     string
	total    uint64
	reserved uint64 // of the driver; not less than what was seen
	profiles []Profile
}

// profile returns a MIG profile with memory in MiB.
func profile(name string, id, slices, instances, multiprocessors int, memory uint64) Profile {
	return Profile{Name: name, ID: id, Slices: slices, Instances: instances, Multiprocessors: multiprocessors, Memory: memory * mib}
}

// seven returns the profiles of GPUs with seven slices: memory in MiB of one, two, four and
// eight eighths, and multiprocessors of a slice.
func seven(one, two, four, eight uint64, multiprocessors int, names ...string) []Profile {
	m := multiprocessors
	return []Profile{
		profile("1g."+names[0], 19, 1, 7, m, one),
		profile("1g."+names[0]+"+me", 20, 1, 1, m, one),
		profile("1g."+names[1], 15, 1, 4, m, two),
		profile("2g."+names[1], 14, 2, 3, 2*m, two),
		profile("3g."+names[2], 9, 3, 2, 3*m, four),
		profile("4g."+names[2], 5, 4, 1, 4*m, four),
		profile("7g."+names[3], 0, 7, 1, 7*m, eight),
	}
}

var knownGPUs = []knownGPU{
	{"a10-24gb", 23028, 512, nil},
	{"a30-24gb", 24576, 600, []Profile{
		profile("1g.6gb", 14, 1, 4, 14, 5836), profile("1g.6gb+me", 21, 1, 1, 14, 5836),
		profile("2g.12gb", 5, 2, 2, 28, 11672), profile("4g.24gb", 0, 4, 1, 56, 23344),
	}},
	{"a40-48gb", 46068, 600, nil},
	{"a100-40gb", 40960, 594, seven(4864, 9856, 19968, 40192, 14, "5gb", "10gb", "20gb", "40gb")},
	{"a100-80gb", 81920, 1100, seven(9856, 19968, 40192, 80384, 14, "10gb", "20gb", "40gb", "80gb")},
	{"b200-180gb", 183359, 1500, seven(23552, 46080, 92160, 184320, 18, "23gb", "45gb", "90gb", "180gb")},
	{"h100-80gb", 81559, 600, seven(10240, 20480, 40960, 81920, 16, "10gb", "20gb", "40gb", "80gb")},
	{"h200-141gb", 143771, 700, seven(18432, 35840, 72704, 144384, 16, "18gb", "35gb", "71gb", "141gb")},
	{"l4-24gb", 23034, 600, nil},
	{"l40s-48gb", 46068, 700, nil},
	{"t4-16gb", 15360, 512, nil},
	{"v100-16gb", 16384, 400, nil},
	{"v100-32gb", 32768, 400, nil},
}

// KnownNames returns the names of the known GPUs.
func KnownNames() []string {
	all := make([]string, len(knownGPUs))
	for i, e := range knownGPUs {
		all[i] = e.name
	}
	return all
}

// AssumedDevice is an assumed GPU or MIG instance.
type AssumedDevice struct {
	Name string
	// Total and Reserved are bytes. The reserve of a MIG instance is an allowance, because
	// what a profile says is a little more than what an instance has.
	Total, Reserved uint64
	// Profile is the kind of MIG instance; its name is empty for a whole GPU.
	Profile Profile
	// Profiles are what a whole GPU can be divided into.
	Profiles []Profile
}

// Usable returns the memory that processes can have.
func (d AssumedDevice) Usable() uint64 { return d.Total - min(d.Reserved, d.Total) }

// allowance is the part of the memory of a profile that is not counted on.
const allowance = 64 * mib

// Assume returns the device that a text describes: a GPU of the catalog (a100-40gb), a MIG
// instance of one (h100-80gb:1g.10gb), or memory (total=40GiB,reserved=600MiB). The memory may
// be left out of a name where there is only one size (t4).
func Assume(text string) (AssumedDevice, error) {
	if strings.Contains(text, "=") {
		return parseMemory(text)
	}
	name, mig, divided := strings.Cut(strings.ToLower(text), ":")
	e, err := findKnown(name)
	if err != nil {
		return AssumedDevice{}, err
	}
	d := AssumedDevice{Name: e.name, Total: e.total * mib, Reserved: e.reserved * mib, Profiles: e.profiles}
	if !divided {
		return d, nil
	}
	i := slices.IndexFunc(e.profiles, func(p Profile) bool { return p.Name == mig })
	if i < 0 {
		return AssumedDevice{}, fmt.Errorf("%s cannot be divided into %q: %s", e.name, mig, choices(e.profiles))
	}
	p := e.profiles[i]
	return AssumedDevice{Name: e.name + ":" + p.Name, Total: p.Memory, Reserved: allowance, Profile: p}, nil
}

func choices(all []Profile) string {
	if len(all) == 0 {
		return "it has no MIG"
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return "use one of " + strings.Join(names, ", ")
}

// findKnown returns the entry with a name, or the only one with that name and any size.
func findKnown(name string) (knownGPU, error) {
	var matches []knownGPU
	for _, e := range knownGPUs {
		short, _, _ := strings.Cut(e.name, "-")
		if e.name == name {
			return e, nil
		}
		if short == name {
			matches = append(matches, e)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return knownGPU{}, fmt.Errorf("GPU %q is not known: use one of %s, or total=SIZE,reserved=SIZE", name, strings.Join(KnownNames(), ", "))
	}
	sizes := make([]string, len(matches))
	for i, e := range matches {
		sizes[i] = e.name
	}
	return knownGPU{}, fmt.Errorf("GPU %q comes in several sizes: use one of %s", name, strings.Join(sizes, ", "))
}

func parseMemory(text string) (AssumedDevice, error) {
	d := AssumedDevice{Name: text}
	seen := map[string]bool{}
	for field := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		bytes, err := parseSize(value)
		switch {
		case err != nil:
			return AssumedDevice{}, fmt.Errorf("%s of %q: %w", key, text, err)
		case seen[key]:
			return AssumedDevice{}, fmt.Errorf("%q has %s twice", text, key)
		case key == "total":
			d.Total = bytes
		case key == "reserved":
			d.Reserved = bytes
		default:
			return AssumedDevice{}, fmt.Errorf("%q: unknown field %q: use total and reserved", text, key)
		}
		seen[key] = true
	}
	if d.Total == 0 || d.Reserved >= d.Total {
		return AssumedDevice{}, fmt.Errorf("%q: total must be given and be more than reserved", text)
	}
	return d, nil
}

var units = []struct {
	suffix string
	bytes  uint64
}{
	{"kib", 1 << 10},
	{"mib", mib},
	{"gib", 1 << 30},
	{"tib", 1 << 40},
	{"kb", 1e3},
	{"mb", 1e6},
	{"gb", 1e9},
	{"tb", 1e12},
	{"b", 1},
	{"", 1},
}

// parseSize reads a number of bytes with a unit, such as 40GiB.
func parseSize(text string) (uint64, error) {
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, u := range units {
		digits, ok := strings.CutSuffix(lower, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(n >= 0) || n*float64(u.bytes) > 1<<60 {
			break
		}
		return uint64(n * float64(u.bytes)), nil
	}
	return 0, fmt.Errorf("%q is not a size such as 40GiB or 600MiB", text)
}

// KnownProfiles returns what a GPU can be divided into, by its name in NVML and its memory; nil if
// the GPU is not known. It is for drivers that do not say so themselves.
func KnownProfiles(name string, total uint64) []Profile {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '-' })
	best, distance := -1, uint64(0)
	for i, e := range knownGPUs {
		short, _, _ := strings.Cut(e.name, "-")
		if len(e.profiles) == 0 || !slices.Contains(words, short) {
			continue
		}
		if d := apart(e.total*mib, total); best < 0 || d < distance {
			best, distance = i, d
		}
	}
	// The sizes of one kind are far apart, the same size of two makes is not.
	if best < 0 || distance > knownGPUs[best].total*mib/8 {
		return nil
	}
	return knownGPUs[best].profiles
}

func apart(a, b uint64) uint64 {
	if a < b {
		return b - a
	}
	return a - b
}
