//go:build cgo && linux

package plugin

import (
	"testing"
	"time"
)

// SetReadyLimit changes how long a readiness check may take, for a test.
func SetReadyLimit(t *testing.T, d time.Duration) {
	before := readyLimit
	readyLimit = d
	t.Cleanup(func() { readyLimit = before })
}
