package instance_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend/backendtest"
	"triton/server/infer"
)

// stackOf returns the part of the goroutine profile whose stack has a function, with the line of its labels.
func stackOf(t *testing.T, function string) string {
	var all bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 1))
	for _, part := range strings.Split(all.String(), "\n\n") {
		if strings.Contains(part, function) {
			return part
		}
	}
	return ""
}

// A profile tells the models apart, also when a batch runs on the goroutine of its request. That goroutine
// has no labels afterwards.
func TestLabelsOfProfiles(t *testing.T) {
	t.Parallel()
	const labels = `# labels: {"instance":"m_0_0", "model":"m", "version":"1"}`
	var during string
	m := &backendtest.Model{Begin: time.Now(), Run: func(context.Context, *infer.Batch) error {
		during = stackOf(t, "TestLabelsOfProfiles")
		return nil
	}}
	synctest.Test(t, func(t *testing.T) {
		g, _ := group(t, &inferencepb.ModelConfig{Name: "m", MaxBatchSize: 8}, m, 1)
		synctest.Wait() // until the instance is idle
		require.NoError(t, call(t.Context(), g, request("inline", 1)))
		require.Contains(t, during, "runInline")
		require.Contains(t, during, labels)
		require.NotContains(t, stackOf(t, "TestLabelsOfProfiles.func2"), "labels:")
	})

	own := &backendtest.Model{Begin: time.Now(), Run: func(context.Context, *infer.Batch) error {
		during = stackOf(t, "Group).serve")
		return nil
	}}
	g, _ := group(t, batching(8, time.Millisecond), own, 1)
	require.NoError(t, call(t.Context(), g, request("own", 1)))
	require.Contains(t, during, labels)
}
