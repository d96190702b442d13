package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		name            string
		total, reserved uint64 // MiB
		instances       int
	}{
		"a100-40gb":                       {"a100-40gb", 40960, 594, 0},
		"A100-80GB":                       {"a100-80gb", 81920, 1100, 0},
		"t4":                              {"t4-16gb", 15360, 512, 0},
		"h100-80gb:1g.10gb":               {"h100-80gb:1g.10gb", 10240, 64, 7},
		"h100:1g.20gb":                    {"h100-80gb:1g.20gb", 20480, 64, 4},
		"a30:2g.12gb":                     {"a30-24gb:2g.12gb", 11672, 64, 2},
		"total=40GiB,reserved=600MiB":     {"total=40GiB,reserved=600MiB", 40960, 600, 0},
		"reserved=1048576, total=2097152": {"reserved=1048576, total=2097152", 2, 1, 0},
		"total=0.5gib":                    {"total=0.5gib", 512, 0, 0},
	} {
		d, err := Assume(text)
		require.NoError(t, err, text)
		require.Equal(t, want.name, d.Name)
		require.Equal(t, want.total*mib, d.Total, text)
		require.Equal(t, (want.total-want.reserved)*mib, d.Usable(), text)
		require.Equal(t, want.instances, d.Profile.Instances)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           `GPU "" is not known`,
		"x100":                       "use one of a10-24gb, a30-24gb",
		"a100":                       "several sizes: use one of a100-40gb, a100-80gb",
		"t4:1g.5gb":                  "it has no MIG",
		"a100-40gb:1g.10g":           "use one of 1g.5gb, 1g.5gb+me, 1g.10gb",
		"total=":                     "is not a size",
		"total=40GiB,total=1":        "has total twice",
		"total=1GiB,reserved=1GiB":   "be more than reserved",
		"reserved=1GiB":              "total must be given",
		"total=40GiB,free=1":         `unknown field "free"`,
		"total=-1":                   "is not a size",
		"total=NaN":                  "is not a size",
		"total=1e300GiB,reserved=1B": "is not a size",
	} {
		_, err := Assume(text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestProfiles: a GPU is found by NVIDIA's name for it, its size by its memory.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		total uint64
		want  string
	}{
		"NVIDIA A100-SXM4-40GB":  {40960, "1g.5gb"},
		"NVIDIA A100 80GB PCIe":  {81920, "1g.10gb"},
		"NVIDIA H100 80GB HBM3":  {81559, "1g.10gb"},
		"NVIDIA H200":            {143771, "1g.18gb"},
		"NVIDIA A30":             {24576, "1g.6gb"},
		"NVIDIA H100 NVL":        {95830, ""},
		"Tesla T4":               {15360, ""},
		"NVIDIA GeForce RTX 500": {40960, ""},
	} {
		all := KnownProfiles(name, test.total*mib)
		if test.want == "" {
			require.Empty(t, all, name)
			continue
		}
		require.Equal(t, test.want, all[0].Name, name)
	}
}

// TestTable: no instance is larger than its GPU by more than the nominal sizes are, and a
// slice more never has less.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, e := range knownGPUs {
		require.Less(t, e.reserved*20, e.total, e.name)
		for i, p := range e.profiles {
			require.LessOrEqual(t, p.Memory, e.total*mib*101/100, p.Name)
			require.LessOrEqual(t, p.Slices*p.Instances, 7)
			if i > 0 {
				require.GreaterOrEqual(t, p.Memory, e.profiles[i-1].Memory)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a100-40gb:1g.5gb")
	f.Add("total=40GiB,reserved=600MiB")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := Assume(text); err == nil && d.Usable() == 0 {
			t.Fatalf("%q has no memory", text)
		}
	})
}
