package model

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// region is memory that a client has taken away.
type region struct{}

func (region) Free(*tensor.Buffer) {}
func (region) Foreign()            {}
func (region) Lost() error         { return errors.New("region 'r' is lost") }

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
	mem := make([]byte, 2*4096*4)
	pool := tensor.NewPool()
	r, _ := lengthRequest(pool, 2, 4000, 1, 1<<20)
	_, err := newLengthRunner(&direct{mem: mem}, lengthPlan(4096), true, pool).Infer(t.Context(), r)
	require.EqualError(t, err, "region 'r' is lost")
	r.Release()
	require.Zero(t, pool.Outstanding())
}
