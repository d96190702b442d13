//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/capi/capitest"
)

const growthModel = `backend: "growth"
max_batch_size: 16
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] }
instance_group { count: 2 kind: KIND_CPU }
dynamic_batching { max_queue_delay_microseconds: 50 }
`

// TestGrowth sends requests by the in-process API to a model whose backend is a library: nothing
// of them may stay. Each has parameters, is answered, refused, answered at the second attempt, or
// refused by another thread after its execution.
func TestGrowth(t *testing.T) {
	calls := 60_000
	if text := os.Getenv("TRITON_GROWTH"); text != "" {
		var err error
		calls, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	dir := t.TempDir()
	capitest.Compile(t, include, "../../server/capi/testdata/growth_backend.c", filepath.Join(dir, "backends", "growth", "libtriton_growth.so"), "-Wextra")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "models", "growth", "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "models", "growth", "config.pbtxt"), []byte(growthModel), 0o600))
	client := capitest.Open(t, include, "../../server/capi/testdata/growth.c")
	client.Call(t, "start", dir)
	t.Cleanup(func() { client.Call(t, "stop", "") })

	const rounds = 12
	begin := time.Now()
	client.Call(t, "drive", strconv.Itoa(calls/rounds)) // pools and free lists reach their size
	first := weigh(t)
	last := first
	for range rounds - 1 {
		client.Call(t, "drive", strconv.Itoa(calls/rounds))
		last = weigh(t)
		t.Logf("%s", last)
	}
	t.Logf("%d requests in %v: at first %s, at last %s", calls, time.Since(begin).Round(time.Second), first, last)
	require.LessOrEqual(t, last.files, first.files+2, "descriptors")
	// One byte for every sixteenth request, and no less than what pools may still grow by.
	slack := max(calls/16, 1<<20)
	require.Less(t, last.allocated-first.allocated, slack, "memory of C that is not freed")
	require.Less(t, last.heap-first.heap, max(slack, first.heap/20), "memory of Go that is in use")
	if os.Getenv("TRITON_GROWTH") != "" { // the resident memory of a short run is that of a start
		require.LessOrEqual(t, last.resident, first.resident+first.resident/20, "resident memory")
	}
}

// weight is what a process holds.
type weight struct{ resident, allocated, heap, objects, files, threads int }

func (w weight) String() string {
	return fmt.Sprintf("%.1f MB resident, %d KB of C, %d KB in %d objects of Go, %d descriptors, %d threads",
		float64(w.resident)/1e6, w.allocated>>10, w.heap>>10, w.objects, w.files, w.threads)
}

func weigh(t *testing.T) weight {
	t.Helper()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	require.NoError(t, err)
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return weight{pages * os.Getpagesize(), capitest.Allocated(), int(m.HeapAlloc), int(m.HeapObjects), len(files), len(threads)}
}
