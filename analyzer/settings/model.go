package settings

import (
	"maps"
	"slices"

	"triton/analyzer/trial"
)

// Model holds the options of one model. What the file does not give is taken from the options of the
// whole profile.
type Model struct {
	Name    string
	CPUOnly bool

	// BatchSizes, Concurrency and RequestRate are sorted, without duplicates. Empty lists were
	// given neither for the model nor for the whole profile, except that BatchSizes is then 1.
	BatchSizes  []int
	Concurrency []int
	RequestRate []int

	trial.Goal

	// Parameters has the alternatives of each field of the configuration to try.
	Parameters Alternatives

	PerfFlags         Flags
	GenAIPerfFlags    Flags
	ServerFlags       Flags
	ServerEnvironment map[string]string
	DockerArgs        map[string]any // bool, int64, string or []string

	own map[string]bool
}

// IsSet reports whether the file gives a key for this model, such as "objectives" or
// "parameters.concurrency".
func (m Model) IsSet(key string) bool { return m.own[key] }

// Alternatives is the alternatives of fields of a model's configuration, in the order of the file.
type Alternatives []Field

// Field is a field of config.pbtxt with the values to try, in JSON form as in a trial.Patch.
type Field struct {
	Name   string
	Values []any
}

// Has reports whether a field has alternatives.
func (s Alternatives) Has(name string) bool {
	return slices.ContainsFunc(s, func(f Field) bool { return f.Name == name })
}

// Without returns the alternatives of the other fields.
func (s Alternatives) Without(names ...string) Alternatives {
	return slices.DeleteFunc(slices.Clone(s), func(f Field) bool { return slices.Contains(names, f.Name) })
}

// Combinations returns one patch for each combination of values, the last field varying fastest.
// Without fields there is one combination, the empty patch.
func (s Alternatives) Combinations() []trial.Patch {
	out := []trial.Patch{{}}
	for _, f := range s {
		next := make([]trial.Patch, 0, len(out)*len(f.Values))
		for _, p := range out {
			for _, v := range f.Values {
				q := make(trial.Patch, len(p)+1)
				maps.Copy(q, p)
				q[f.Name] = v
				next = append(next, q)
			}
		}
		out = next
	}
	return out
}

// Flags are options for a program by their long name without dashes, in the order of the file.
type Flags []Flag

// Flag is one option. A list has several values; others have one.
type Flag struct {
	Name   string
	Values []string
}

// Get returns the last value of a flag.
func (f Flags) Get(name string) (string, bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].Name == name && len(f[i].Values) > 0 {
			return f[i].Values[len(f[i].Values)-1], true
		}
	}
	return "", false
}
