//go:build !linux || !cgo

package cuda

import "fmt"

// Open fails: the driver needs Linux and a build with cgo.
func Open() (Driver, error) {
	return nil, fmt.Errorf("%w: this program was built without CUDA (it needs linux and cgo)", ErrNoDriver)
}
