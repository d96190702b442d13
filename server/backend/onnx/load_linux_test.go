//go:build cgo

package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
)

// niceness returns the number of threads of this process by niceness.
func niceness(t *testing.T) map[string]int {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/stat")
	require.NoError(t, err)
	all := map[string]int{}
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		all[strings.Fields(rest)[16]]++
	}
	return all
}

// The threads of a session's pool have the priority of the server, although the session is made by a
// thread of a low one. It is not parallel: other loads have such threads.
func TestPoolThreadsKeepTheirPriority(t *testing.T) {
	before := niceness(t)
	require.Len(t, before, 1, "all threads have the same")
	spec := specOf(t, identity(onnxmodel.Int32, "n"), 0)
	spec.Config.Parameters = map[string]*inferencepb.ModelParameter{"intra_op_thread_count": {StringValue: "6"}}
	w := load(t, spec)
	require.NotNil(t, w.inst)
	after := niceness(t)
	require.Len(t, after, 1)
	for nice, n := range before {
		require.GreaterOrEqual(t, after[nice], n+4, "the pool has threads")
	}
}
