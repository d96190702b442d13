//go:build cgo && (linux || darwin)

package onnx

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// TestInstanceCountChanges replaces the instances of a loaded model, as a reload
// does whose configuration differs in nothing but their count: the new ones are
// made before the old ones are closed, and get the threads of their own count.
func TestInstanceCountChanges(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	spec := specOf(t, identity(onnxmodel.Int32, "n"), 0)
	spec.CPUs, spec.Log = 8, slog.New(slog.NewTextHandler(&log, nil))
	b := engineUnderTest(t)
	m, err := b.Load(context.Background(), spec)
	require.NoError(t, err)
	w := &world{TB: t, spec: spec, model: m}
	make := func(n int) []backend.Instance {
		var all []backend.Instance
		for i := range n {
			at := backend.Placement{Name: fmt.Sprintf("m_0_%d", i), Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Instances: n}
			in, err := m.NewInstance(context.Background(), at)
			require.NoError(t, err)
			all = append(all, in)
		}
		return all
	}
	works := func(i backend.Instance) {
		r := w.request(0, input{"x", tensor.Int32, tensor.Shape{1}, []byte{1, 2, 3, 4}})
		got, err := w.infer(i.(*instance), r)
		require.NoError(t, err)
		require.Equal(t, []byte{1, 2, 3, 4}, bytesOf(t, got[0], "y"))
		got[0].Release()
	}
	bytesHeld := func() uint64 {
		var n uint64
		for _, held := range m.(backend.MemoryReporter).Memory() {
			n += held.Bytes
		}
		return n
	}
	plans := func() []string {
		var all []string
		for _, found := range regexp.MustCompile(`msg=threads .*instances=(\d+ cpus=8 pool=\d+)`).FindAllStringSubmatch(log.String(), -1) {
			all = append(all, found[1])
		}
		return all
	}
	closeAll := func(all []backend.Instance) {
		for _, i := range all {
			require.NoError(t, i.Close())
		}
	}

	eight := make(8)
	require.Equal(t, []string{"8 cpus=8 pool=1"}, plans())
	works(eight[7])
	one := make(1)
	require.Equal(t, []string{"8 cpus=8 pool=1", "1 cpus=8 pool=8"}, plans(), "one instance has all processors")
	works(one[0])
	works(eight[0])
	closeAll(eight)
	works(one[0])
	sixteen := make(16)
	require.Equal(t, []string{"8 cpus=8 pool=1", "1 cpus=8 pool=8", "16 cpus=8 pool=1"}, plans())
	again := make(8)
	require.Len(t, plans(), 3, "the same threads serve 8 and 16")
	closeAll(one)
	closeAll(sixteen)
	works(again[3])
	closeAll(again)
	require.Zero(t, bytesHeld(), "a session is closed with its last instance")
	require.NoError(t, m.Close())
}
