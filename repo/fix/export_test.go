package fix

import (
	"maps"
	"slices"
)

// Rules returns the ids of the rules with findings that may have a correction.
func Rules() []string { return slices.Sorted(maps.Keys(corrections)) }
