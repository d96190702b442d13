//go:build cgo && (linux || darwin)

package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHeapMeter: loads that overlap share what they took by the sizes of their files; no byte counts
// twice.
func TestHeapMeter(t *testing.T) {
	t.Parallel()
	heap := uint64(1000)
	m := &heapMeter{read: func() uint64 { return heap }}

	alone := m.begin(10)
	heap += 50
	alone.end(20, false)
	require.EqualValues(t, 30, alone.bytes(), "the arena is counted by itself")

	small, large := m.begin(10), m.begin(30)
	heap += 100
	small.end(0, false)
	third := m.begin(60)
	heap += 300
	large.end(0, false)
	third.end(0, false)
	require.EqualValues(t, []uint64{40, 120, 240}, []uint64{small.bytes(), large.bytes(), third.bytes()})
	require.EqualValues(t, 30, alone.bytes(), "of before")

	broken, good := m.begin(10), m.begin(10)
	heap += 80
	broken.end(0, true)
	good.end(0, false)
	require.EqualValues(t, []uint64{0, 80}, []uint64{broken.bytes(), good.bytes()})

	freed := m.begin(10)
	heap -= 500
	freed.end(0, false)
	require.Zero(t, freed.bytes(), "something else was freed meanwhile")
}
