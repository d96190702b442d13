package rest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// decode reads a request and checks afterwards that all memory came back.
func decode(t testing.TB, body string, headerLen int, check func(*kserve.Request, error)) {
	t.Helper()
	pool := tensor.NewPool()
	rs := newRegions(pool)
	defer func() { require.Zero(t, pool.Outstanding()) }()
	defer rs.memory.Release()
	d := Decoder{Pool: pool, Regions: rs}
	b := pool.Get(len(body))
	copy(b.Bytes(), body)
	req := &kserve.Request{ModelName: "m"}
	err := d.DecodeRequest(req, b, headerLen)
	b.Release()
	check(req, err)
	req.Reset()
}

// regions has one, "r", of 40 bytes from 0 to 39.
type regions struct{ memory *tensor.Buffer }

func newRegions(pool *tensor.Pool) regions {
	rs := regions{pool.Get(40)}
	for i := range rs.memory.Bytes() {
		rs.memory.Bytes()[i] = byte(i)
	}
	return rs
}

func (rs regions) Find(region string, offset, size uint64) (tensor.Segment, error) {
	if region != "r" || offset > 40 || size > 40-offset {
		return tensor.Segment{}, status.New(status.NotFound, "no region '%s'", region)
	}
	return tensor.Segment{Buffer: rs.memory.Retain(), Off: int(offset), N: int(size)}, nil
}

func bytesOf(t testing.TB, x *kserve.Tensor) []byte {
	t.Helper()
	b := make([]byte, x.Data.Len())
	require.Equal(t, len(b), x.Data.CopyTo(b))
	return b
}
