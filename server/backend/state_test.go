package backend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// kept is the states of a sequence in a test.
type kept struct {
	shape tensor.Shape
	data  tensor.Data
}

func (k *kept) Update(output string, _ tensor.DataType, shape tensor.Shape, data tensor.Data) error {
	if output != "s" {
		data.Release()
		return status.New(status.InvalidArg, "state '%s' is not a valid state name.", output)
	}
	k.data.Release()
	k.shape, k.data = shape.Clone(), data
	return nil
}

// Every sequence of a batch gets its row of a state by reference; clients see
// the state only when it is an output too.
func TestScatterStates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		v     Value
		batch bool
		shape tensor.Shape
		seen  tensor.Shape // by clients; nil: nothing
		state tensor.Shape
	}{
		"hidden":       {Value{Hidden: true}, true, tensor.Shape{3, 2}, nil, tensor.Shape{1, 2}},
		"an output":    {Value{}, true, tensor.Shape{3, 2}, tensor.Shape{1, 2}, tensor.Shape{1, 2}},
		"reshaped":     {Value{Dims: tensor.Shape{1, 2}, Reshape: tensor.Shape{2}}, true, tensor.Shape{3, 2}, tensor.Shape{1, 1, 2}, tensor.Shape{1, 2}},
		"not batching": {Value{Dims: tensor.Shape{-1}}, false, tensor.Shape{2}, tensor.Shape{2}, tensor.Shape{2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := tensor.NewPool()
			c.v.Name, c.v.DataType, c.v.Role = "s", tensor.Int32, State
			rs := []*infer.Request{request(pool, 1, c.v, nil, nil, 0)}
			states := make([]kept, 3)
			rs[0].Membership.States = &states[0]
			if c.batch {
				rs = append(rs, request(pool, 1, c.v, nil, nil, 0), request(pool, 1, c.v, nil, nil, 0))
				rs[1].Membership = infer.Membership{Null: true, States: &states[1]}
				rs[2].Membership.States = &states[2]
			}
			buf := pool.Get(8 * len(rs))
			copy(buf.Bytes(), sequence(8*len(rs)))
			s := NewScatter(signature(c.batch, c.v))
			s.Start(batchOf(rs...))
			s.Output(0, c.shape, buf, 0, buf.Len())
			s.Send()
			for k, r := range rs {
				require.Equal(t, c.state, states[k].shape)
				got, _ := states[k].data.Contiguous()
				require.Same(t, &buf.Bytes()[8*k], &got[0])
				states[k].data.Release()
				if r.Membership.Null {
					require.NotEqual(t, infer.Answered, r.State())
					continue
				}
				resp, err := r.Take(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.seen == nil, len(resp.Outputs) == 0)
				if c.seen != nil {
					require.Equal(t, c.seen, resp.Outputs[0].Shape)
				}
				resp.Release()
			}
			buf.Release()
			release(rs...)
			require.Zero(t, pool.Outstanding())
		})
	}
}

func TestStateErrors(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	r := infer.NewRequest()
	r.ModelName = "m"
	err := UpdateState(r, "s", tensor.Int32, nil, tensor.NewData(pool.Get(4)))
	require.EqualError(t, err, "unable to add state 's'. State configuration is missing for model 'm'.")
	require.Equal(t, status.InvalidArg, status.CodeOf(err))
	release(r)

	v := Value{Name: "t", DataType: tensor.Int32, Dims: tensor.Shape{1}, Role: State}
	r = request(pool, 1, v, nil, nil, 0)
	r.Membership.States = &kept{}
	buf := pool.Get(4)
	_, errs := answers(t, signature(true, v), []*infer.Request{r}, tensor.Shape{1, 1}, buf)
	buf.Release()
	require.EqualError(t, errs[0], "state 't' is not a valid state name.")
	release(r)
	require.Zero(t, pool.Outstanding())
}

func TestEngineSignature(t *testing.T) {
	t.Parallel()
	s := NewFullSignature(&inferencepb.ModelConfig{
		Input:  []*inferencepb.ModelInput{{Name: "in", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{1}}},
		Output: []*inferencepb.ModelOutput{{Name: "a.out", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{1}}},
		SchedulingChoice: &inferencepb.ModelConfig_SequenceBatching{SequenceBatching: &inferencepb.ModelSequenceBatching{
			ControlInput: []*inferencepb.ModelSequenceBatching_ControlInput{{
				Name: "start", Control: []*inferencepb.ModelSequenceBatching_Control{{Fp32FalseTrue: []float32{0, 1}}},
			}},
			State: []*inferencepb.ModelSequenceBatching_State{
				{InputName: "a", OutputName: "a.out", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{1}},
				{InputName: "b", OutputName: "b.out", DataType: inferencepb.DataType_TYPE_INT8, Dims: []int64{-1}},
			},
		}},
	})
	one := tensor.Shape{1}
	require.Equal(t, []Value{
		{Name: "in", DataType: tensor.Int32, Dims: one},
		{Name: "start", DataType: tensor.FP32, Dims: one, Role: Control},
		{Name: "a", DataType: tensor.Int32, Dims: one, Role: State},
		{Name: "b", DataType: tensor.Int8, Dims: tensor.Shape{-1}, Role: State},
	}, s.Inputs)
	require.Equal(t, []Value{
		{Name: "a.out", DataType: tensor.Int32, Dims: one, Role: State},
		{Name: "b.out", DataType: tensor.Int8, Dims: tensor.Shape{-1}, Role: State, Hidden: true},
	}, s.Outputs)
	r, null := infer.NewRequest(), infer.NewRequest()
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "other"})
	null.Membership.Null = true
	s.Outputs = append(s.Outputs, Value{Name: "c"}, Value{Name: "other"})
	b := batchOf(r, null)
	require.True(t, s.Wants(b, 1), "the sequence needs it")
	require.False(t, s.Wants(b, 2), "null requests want nothing")
	require.True(t, s.Wants(b, 3))
	release(r, null)
}

// The rows of states that the batch before wrote are read where they lie.
func TestGatherStatesThatLieTogether(t *testing.T) {
	t.Parallel()
	v := Value{Name: "s", DataType: tensor.Int32, Dims: tensor.Shape{2}, Role: State}
	for name, c := range map[string]struct {
		at     []int // of each request in the buffer
		passed bool
	}{
		"in order":       {[]int{0, 8, 16}, true},
		"not from 0":     {[]int{8, 16, 24}, true},
		"another order":  {[]int{8, 0, 16}, false},
		"a gap":          {[]int{0, 8, 24}, false},
		"one row twice":  {[]int{0, 8, 8}, false},
		"an odd address": {[]int{1, 9, 17}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := tensor.NewPool()
			buf := pool.Get(40)
			copy(buf.Bytes(), sequence(40))
			var rs []*infer.Request
			var want []byte
			for _, at := range c.at {
				r := infer.NewRequest()
				e := r.Extra()
				e.Name, e.DataType, e.Shape, e.Data = "s", tensor.Int32, tensor.Shape{1, 2}, tensor.SliceData(buf, at, 8)
				rs, want = append(rs, r), append(want, buf.Bytes()[at:at+8]...)
			}
			buf.Release()
			g := NewGather(&Signature{Batching: true, Inputs: []Value{v}}, pool)
			require.NoError(t, g.Collect(batchOf(rs...)))
			require.Equal(t, want, g.Inputs[0].Bytes)
			require.Equal(t, tensor.Shape{3, 2}, g.Inputs[0].Shape)
			copied, _ := pool.Copied()
			require.Equal(t, c.passed, copied == 0)
			g.Release()
			release(rs...)
			require.Zero(t, pool.Outstanding())
		})
	}
}
