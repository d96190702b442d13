package flags

import "triton/pkg/spelling"

// Closest returns the known name that is nearest to a misspelled one; empty if none is
// near.
func Closest(name string, among []string) string {
	near, _ := spelling.Within(len(name)/3+1, name, among)
	return near
}
