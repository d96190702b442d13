//go:build !race

package cache_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

func TestHitAllocates(t *testing.T) {
	w := newWorld(t, setup{size: 1 << 20, instances: 1})
	text := tensor.HeapBuffer([]byte("question"))
	hit(t, w, text)
	require.LessOrEqual(t, testing.AllocsPerRun(200, func() { hit(t, w, text) }), 0.5)
	require.EqualValues(t, 201, w.counts().hits)
}
