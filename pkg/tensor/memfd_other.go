//go:build !linux

package tensor

import "errors"

// Memfd is a source of memory that other processes can map; this system has none.
type Memfd struct{ Anonymous }

// NewMemfd fails: there are no memory files here.
func NewMemfd() (*Memfd, error) {
	return nil, errors.New("this system has no memory files")
}
