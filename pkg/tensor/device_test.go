package tensor_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

// deviceMemory is a device of a few bytes.
type deviceMemory struct {
	memory []byte
	freed  int
}

func (c *deviceMemory) Free(*tensor.Buffer) { c.freed++ }

func (*deviceMemory) Location() tensor.Location { return tensor.Location{Kind: tensor.GPU, Device: 3} }

func (c *deviceMemory) Read(dst []byte, offset uint64) error {
	copy(dst, c.memory[offset:])
	return nil
}

func (c *deviceMemory) Write(src []byte, offset uint64) error {
	if offset+uint64(len(src)) > uint64(len(c.memory)) {
		return errors.New("too long")
	}
	copy(c.memory[offset:], src)
	return nil
}

func TestDevice(t *testing.T) {
	t.Parallel()
	c := &deviceMemory{memory: []byte("........")}
	b := tensor.NewBuffer(nil, false, c)
	require.Same(t, c, b.Device())
	require.Nil(t, tensor.HeapBuffer([]byte("x")).Device())
	pool := tensor.NewPool()
	p := pool.Get(1)
	require.Nil(t, p.Device())
	require.Equal(t, tensor.Location{Kind: tensor.GPU, Device: 3}, b.Location())
	require.Zero(t, p.Location())
	require.Zero(t, tensor.HeapBuffer(nil).Location())
	on := tensor.SegmentData(tensor.Segment{Buffer: b.Retain(), Off: 2, N: 4})
	require.Equal(t, 4, on.Len())
	on.Release()
	p.Release()

	var d tensor.Data
	require.NoError(t, d.WriteTo(c, 8), "nothing")
	d.Append(tensor.HeapBuffer([]byte("abc")), 0, 3)
	d.Append(tensor.HeapBuffer([]byte("xdex")), 1, 2)
	require.NoError(t, d.WriteTo(c, 2))
	require.Equal(t, "..abcde.", string(c.memory))
	require.EqualError(t, d.WriteTo(c, 4), "too long")
	d.Release()
	b.Release()
	require.Equal(t, 1, c.freed)
}
