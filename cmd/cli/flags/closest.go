package flags

import "triton/pkg/spelling"

// Closest returns the name that was most likely meant, empty when none is near.
func Closest(name string, among []string) string {
	near, _ := spelling.Within(len(name)/3+1, name, among)
	return near
}
