package gpu

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine has four GPUs that NVML lists in another order than that of their bus
// addresses; "b" and "c" share the beginning of their UUIDs.
func machine() []physicalGPU {
	return []physicalGPU{
		{Identity: Identity{"GPU-d0000000-1", "0001:0a:00.0"}, name: "L4"},
		{Identity: Identity{"GPU-b1110000-2", "0000:65:00.0"}, name: "L4"},
		{Identity: Identity{"GPU-b2220000-3", "0000:b3:00.0"}, name: "L4"},
		{Identity: Identity{"GPU-a0000000-4", "0000:17:00.0"}, name: "L4"},
	}
}

// names returns the last digits of the UUIDs of a table's GPUs.
func names(all []physicalGPU, table []selection) string {
	var b strings.Builder
	for _, s := range table {
		if s.index < 0 {
			b.WriteByte('-')
			continue
		}
		b.WriteByte(all[s.index].UUID[len(all[s.index].UUID)-1])
	}
	return b.String()
}

func TestVisible(t *testing.T) {
	t.Parallel()
	all := machine()
	require.Equal(t, "4231", names(all, Environment{}.table(all)), "all, by address")
	for visible, want := range map[string]string{
		"":                                    "",
		"0":                                   "4",
		"3,0":                                 "14",
		" 2 , 1":                              "32",
		"0,2,-1,1":                            "43",
		"-1":                                  "",
		"4":                                   "",
		"0,4,1":                               "4",
		"1,1,0":                               "2",
		"NoDevFiles":                          "",
		"0,none,1":                            "4",
		"0,,1":                                "4",
		"GPU-b2220000-3":                      "3",
		"GPU-d,GPU-b1":                        "12",
		"GPU-b":                               "", // two
		"GPU-a,GPU-b,GPU-d":                   "4",
		"GPU-e":                               "",
		"GPU-":                                "",
		"GPU-a0000000-4,0":                    "4", // twice
		"1,GPU-a":                             "24",
		"MIG-GPU-a0000000-4/1/0":              "",
		"99999999999999999999":                "",
		"GPU-d0000000-1,GPU-a0000000-4,3,2,1": "14",
	} {
		require.Equal(t, want, names(all, Environment{Visible: &visible}.table(all)), "%q", visible)
	}
	empty := ""
	require.Empty(t, Environment{Visible: &empty}.table(nil))
}

// TestMIGMode has NVIDIA's rules for GPUs in MIG mode: a process sees one instance,
// and no whole GPU.
func TestMIGMode(t *testing.T) {
	t.Parallel()
	all := machine()
	empty := machine()
	empty[1].migMode = true
	require.Equal(t, "431", names(empty, Environment{}.table(empty)), "one without instances cannot be used")
	all[1].migMode, all[2].migMode = true, true
	all[1].instances = []migInstance{{"MIG-5551", "MIG-GPU-b1110000-2/1/0"}, {"MIG-5552", "MIG-GPU-b1110000-2/2/0"}}
	all[2].instances = []migInstance{{"MIG-6661", "MIG-GPU-b2220000-3/9/0"}}
	require.Equal(t, "2", names(all, Environment{}.table(all)), "the first instance there is")
	for visible, want := range map[string]string{
		"0":                             "4",
		"1":                             "2",
		"2,1":                           "3",
		"0,3":                           "41",
		"0,2":                           "3",
		"MIG-5552":                      "2",
		"MIG-555":                       "", // two
		"MIG-6":                         "3",
		"MIG-6661,MIG-5551":             "3",
		"0,MIG-6661":                    "3",
		"MIG-GPU-b1110000-2/2/0":        "2",
		"MIG-GPU-b1110000-2/3/0":        "",
		"MIG-GPU-b2220000-3/9/0,GPU-a0": "3",
		"MIG-none,0":                    "",
	} {
		require.Equal(t, want, names(all, Environment{Visible: &visible}.table(all)), "%q", visible)
	}
}

// TestOrderOfDriver: a CUDA driver decides the order of the GPUs, whatever the values
// of the environment variables.
func TestOrderOfDriver(t *testing.T) {
	t.Parallel()
	all := machine()
	visible := "0,1"
	for name, test := range map[string]struct {
		known []Identity
		err   error
		want  string
	}{
		"by UUID":             {[]Identity{{"GPU-d0000000-1", ""}, {"GPU-a0000000-4", ""}}, nil, "14"},
		"by address":          {[]Identity{{"GPU-?", "00000000:B3:00.0"}, {"GPU-?", "0001:0A:00.0"}}, nil, "31"},
		"one that NVML hides": {[]Identity{{"GPU-?", "0000:99:00.0"}, {"GPU-b1110000-2", "0000:65:00.0"}}, nil, "-2"},
		"none":                {nil, nil, ""},
		"no driver":           {nil, errors.New("no driver"), "42"},
	} {
		e := Environment{Visible: &visible, CUDA: func() ([]Identity, error) { return test.known, test.err }}
		require.Equal(t, test.want, names(all, e.table(all)), name)
	}
	e := Environment{CUDA: func() ([]Identity, error) { panic("called on a machine without GPUs") }}
	require.Empty(t, e.table(nil))
}

// TestOrderWithoutDriver: without a driver there is a warning, but only if the order of
// the GPUs matters.
func TestOrderWithoutDriver(t *testing.T) {
	t.Parallel()
	mixed := machine()
	mixed[2].name = "H200"
	driver := func() ([]Identity, error) { return []Identity{{UUID: mixed[2].UUID}}, nil }
	for name, test := range map[string]struct {
		all   []physicalGPU
		order string
		cuda  func() ([]Identity, error)
		warns bool
	}{
		"GPUs of one kind": {machine(), "", nil, false},
		"default order":    {mixed, "", nil, true},
		"fastest first":    {mixed, "FASTEST_FIRST", nil, true},
		"by address":       {mixed, "PCI_BUS_ID", nil, false},
		"with a driver":    {mixed, "", driver, false},
	} {
		var warnings []string
		e := Environment{Order: test.order, CUDA: test.cuda, Warn: func(text string) { warnings = append(warnings, text) }}
		e.table(test.all)
		require.Equal(t, test.warns, slices.ContainsFunc(warnings, func(s string) bool { return strings.Contains(s, "CUDA_DEVICE_ORDER=PCI_BUS_ID") }), name)
	}
}

func TestUnknownAddressesKeepTheOrder(t *testing.T) {
	t.Parallel()
	all := machine()
	all[3].PCI = ""
	require.Equal(t, "1234", names(all, Environment{}.table(all)))
}

// TestAnEmptyEntryNamesNothing, also not a MIG instance whose path is unknown.
func TestAnEmptyEntryNamesNothing(t *testing.T) {
	t.Parallel()
	all := []physicalGPU{{Identity: Identity{"GPU-a", "0000:17:00.0"}, migMode: true, instances: []migInstance{{uuid: "MIG-1"}}}}
	for _, visible := range []string{"", ",", " ", ",MIG-1"} {
		require.Empty(t, Environment{Visible: &visible}.table(all), "%q shows none", visible)
	}
	visible := "MIG-1,"
	require.Len(t, Environment{Visible: &visible}.table(all), 1)
}
