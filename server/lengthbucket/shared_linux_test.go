package lengthbucket

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// region is memory of a client's.
type region struct{}

func (region) Free(*tensor.Buffer) {}
func (region) Foreign()            {}

// direct writes its output to the client's region, which the client then truncates.
type direct struct {
	infer.Runner
	mem []byte
}

func (d *direct) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	r.Unary()
	defer r.Release()
	r.Move(infer.Decoded, infer.Executing)
	resp := infer.NewResponse()
	b := tensor.NewBuffer(d.mem, false, region{})
	resp.Add("OUT", tensor.Int32, r.Input("IN").Shape, tensor.NewData(b))
	r.Respond(resp, true)
	return r.Wait(ctx)
}

func TestOutputThatTheClientTakesAway(t *testing.T) {
	t.Parallel()
	f, err := os.Create(t.TempDir() + "/region")
	require.NoError(t, err)
	defer f.Close()
	const size = 2 * 4096 * 4
	require.NoError(t, f.Truncate(size))
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(mem)) }()
	require.NoError(t, f.Truncate(0))

	pool := tensor.NewPool()
	r, _ := request(pool, 2, 4000, 1, 1<<20)
	_, err = New(&direct{mem: mem}, plan(4096), true, pool).Infer(t.Context(), r)
	require.EqualError(t, err, "the shared memory specified with the request for output 'OUT' became smaller than it was")
	r.Release()
	require.Zero(t, pool.Outstanding())
}
