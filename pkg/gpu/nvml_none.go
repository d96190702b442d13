//go:build !linux || !cgo

package gpu

import "fmt"

// Open fails: NVML needs Linux and a build with cgo.
func Open(Environment) (View, error) {
	return nil, fmt.Errorf("%w: this program was built without NVML (it needs linux and cgo)", ErrNoDriver)
}
