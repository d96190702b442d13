package rest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
)

// decode reads a request and checks afterwards that all memory came back.
func decode(t testing.TB, body string, headerLen int, check func(*kserve.Request, error)) {
	t.Helper()
	pool := tensor.NewPool()
	rs := tensortest.NewRegions(pool)
	defer func() { require.Zero(t, pool.Outstanding()) }()
	defer rs.Memory.Release()
	d := Decoder{Pool: pool, Regions: rs}
	b := pool.Get(len(body))
	copy(b.Bytes(), body)
	req := &kserve.Request{ModelName: "m"}
	err := d.DecodeRequest(req, b, headerLen)
	b.Release()
	check(req, err)
	req.Reset()
}

func bytesOf(t testing.TB, x *kserve.Tensor) []byte {
	t.Helper()
	b := make([]byte, x.Data.Len())
	require.Equal(t, len(b), x.Data.CopyTo(b))
	return b
}
