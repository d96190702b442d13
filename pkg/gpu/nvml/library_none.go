//go:build !linux || !cgo

package nvml

import "errors"

// Load returns an error: NVML needs Linux and a build with cgo.
func Load() (Library, error) {
	return nil, errors.New("this program was built without NVML (it needs linux and cgo)")
}
