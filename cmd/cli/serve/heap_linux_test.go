package serve

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUntouch: pages that the allocator has written zeros to are given back.
func TestUntouch(t *testing.T) {
	zeros := make([]byte, heapFloor)
	for i := range zeros {
		zeros[i] = 1
	}
	clear(zeros)
	before := residentMiB(t)
	untouch(zeros)
	require.InDelta(t, heapFloor>>20, before-residentMiB(t), 8)
	require.Zero(t, zeros[heapFloor/2])
	runtime.KeepAlive(zeros)
}

// residentMiB returns the memory of this process that is in no file.
func residentMiB(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, value, ok := strings.Cut(string(text), "RssAnon:")
	require.True(t, ok)
	kib, err := strconv.Atoi(strings.Fields(value)[0])
	require.NoError(t, err)
	return kib >> 10
}
