package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/infer"
)

// scarce makes requests of backends that make outputs of their own, one of each.
func scarce(t *testing.T) map[string]struct {
	instance backend.Instance
	request  *infer.Request
} {
	sequences, dyna, query := open(t, configOf(t, "custom_sequence_int32")), open(t, configOf(t, "custom_dyna_sequence_int32")), open(t, configOf(t, "query"))
	absent := config(nil)
	for _, in := range absent.GetInput() {
		in.Optional = true
	}
	repeated, _ := repeatRequest(tensor.NewPool(), 0, []int32{1}, []int32{0})
	repeated.Unary()
	return map[string]struct {
		instance backend.Instance
		request  *infer.Request
	}{
		"sequence":      {sequences.instance, sequences.step(1, "SR", 1, 2)},
		"dyna_sequence": {dyna.instance, dyna.step(1, "SR", 1, 2)},
		"query":         {query.instance, query.request(nil)},
		"identity":      {load(t, builtin.Identity{}, absent), request(tensor.NewPool(), "INPUT0", 1, 5)},
		"repeat":        {load(t, builtin.Repeat{}, repeatConfig(false)), repeated},
	}
}

func TestNoMemoryForOutputs(t *testing.T) {
	t.Parallel()
	m := tensortest.New(nil)
	m.Refuse(tensortest.Above(-1))
	for name, c := range scarce(t) {
		r := c.request
		r.Pool = m.Pool
		require.NoError(t, run(t, c.instance, r), name)
		if name == "repeat" { // one error for each response, and the end
			require.Positive(t, m.Refused())
			_, err := r.Wait(t.Context())
			require.ErrorContains(t, err, "no memory for output 'OUT' of 4 bytes: the test refuses memory")
		} else {
			_, err := r.Wait(t.Context())
			require.ErrorIs(t, err, tensortest.ErrRefused, name)
		}
		r.Release()
		r.Release()
	}
}

// region is memory of a client that may go away.
type region struct{}

func (region) Free(*tensor.Buffer) {}
func (region) Foreign()            {}
func (region) Lost() error         { return nil }

// Outputs are written where the client wants them, and nothing is copied.
func TestOutputsGoStraightIntoClientMemory(t *testing.T) {
	t.Parallel()
	b := open(t, configOf(t, "custom_sequence_int32"))
	memory := b.pool.Get(64)
	at := tensor.NewBuffer(memory.Bytes(), true, region{})
	r := b.step(1, "SR", 1, 2)
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUTPUT", Into: tensor.Segment{Buffer: at.Retain(), Off: 8, N: 16}})
	require.NoError(t, run(t, b.instance, r))
	resp, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.True(t, r.Outputs[0].Placed)
	require.Equal(t, []byte{3, 0, 0, 0, 3, 0, 0, 0}, memory.Bytes()[8:16])
	_, client := b.pool.Copied()
	require.Zero(t, client)
	resp.Release()
	r.Release()
	r.Release()
	at.Release()
	memory.Release()
}
