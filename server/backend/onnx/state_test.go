//go:build cgo && (linux || darwin)

package onnx

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// accumulator adds up its input over a sequence, in a state that is not an
// output.
func accumulator(t testing.TB, batch int32) backend.Spec {
	one := func(name string) onnxmodel.Value {
		if batch == 0 {
			return onnxmodel.Tensor(name, onnxmodel.Int32, 1)
		}
		return onnxmodel.Tensor(name, onnxmodel.Int32, "batch", 1)
	}
	f := &onnxmodel.File{
		Nodes: []onnxmodel.Node{
			{Op: "Add", Inputs: []string{"INPUT", "SUM_IN"}, Outputs: []string{"SUM_OUT"}},
			{Op: "Identity", Inputs: []string{"SUM_OUT"}, Outputs: []string{"OUTPUT"}},
		},
		Inputs:  []onnxmodel.Value{one("INPUT"), one("SUM_IN")},
		Outputs: []onnxmodel.Value{one("OUTPUT"), one("SUM_OUT")},
	}
	spec := specOf(t, f, batch)
	spec.Config.Input, spec.Config.Output = spec.Config.Input[:1], spec.Config.Output[:1]
	spec.Config.SchedulingChoice = &inferencepb.ModelConfig_SequenceBatching{SequenceBatching: &inferencepb.ModelSequenceBatching{
		State: []*inferencepb.ModelSequenceBatching_State{
			{InputName: "SUM_IN", OutputName: "SUM_OUT", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{1}},
		},
	}}
	return spec
}

// sum is the state of one sequence.
type sum struct {
	shape tensor.Shape
	data  tensor.Data
}

func (s *sum) Update(_ string, _ tensor.DataType, shape tensor.Shape, data tensor.Data) error {
	s.data.Release()
	s.shape, s.data = shape.Clone(), data
	return nil
}

func (w *world) sum(v int32) *sum {
	shape := tensor.Shape{1, 1}
	if w.spec.Config.MaxBatchSize == 0 {
		shape = shape[:1]
	}
	buf := w.spec.Pool.Get(4)
	copy(buf.Bytes(), int32s(v))
	return &sum{shape, tensor.NewData(buf)}
}

// step returns a request of a sequence.
func (w *world) step(s *sum, v int32) *infer.Request {
	r := w.request(int(w.spec.Config.MaxBatchSize), input{"INPUT", tensor.Int32, s.shape, int32s(v)})
	r.Batch = min(r.Batch, 1)
	e := r.Extra()
	e.Name, e.DataType, e.Shape, e.Data = "SUM_IN", tensor.Int32, s.shape, s.data.Clone()
	r.Membership.States = s
	return r
}

// A batch of sequences adds up with no copy of a state from the second step on.
func TestStates(t *testing.T) {
	t.Parallel()
	w := load(t, accumulator(t, 4))
	a, b := w.sum(0), w.sum(100)
	for k := range int32(5) {
		before, _ := w.spec.Pool.Copied()
		out, err := w.infer(w.inst, w.step(a, k), w.step(b, 10*k))
		require.NoError(t, err)
		total := k * (k + 1) / 2
		for i, want := range []int32{total, 100 + 10*total} {
			require.Len(t, out[i].Outputs, 1, "the state is hidden")
			require.Equal(t, int32s(want), bytesOf(t, out[i], "OUTPUT"))
			out[i].Release()
		}
		after, _ := w.spec.Pool.Copied()
		states := after - before - 8 // those of INPUT
		if k == 0 {
			require.EqualValues(t, 8, states, "they came from two places")
		} else {
			require.Zero(t, states)
		}
	}
	a.data.Release()
	b.data.Release()
}

func TestStatesWithoutBatching(t *testing.T) {
	t.Parallel()
	w := load(t, accumulator(t, 0))
	s := w.sum(7)
	for _, want := range []int32{8, 9, 10} {
		out, err := w.infer(w.inst, w.step(s, 1))
		require.NoError(t, err)
		require.Equal(t, int32s(want), bytesOf(t, out[0], "OUTPUT"))
		out[0].Release()
	}
	toModel, toClient := w.spec.Pool.Copied()
	require.Zero(t, toModel+toClient)
	s.data.Release()
}

// A row of no sequence is computed and no client gets it.
func TestNullRows(t *testing.T) {
	t.Parallel()
	w := load(t, accumulator(t, 4))
	a, dropped := w.sum(5), w.sum(0)
	null, r := w.step(dropped, 9), w.step(a, 1)
	null.Membership.Null = true
	var batch infer.Batch
	batch.Add(null)
	batch.Add(r)
	require.NoError(t, w.inst.Execute(context.Background(), &batch))
	require.NotEqual(t, infer.Answered, null.State())
	resp, err := r.Wait(context.Background())
	require.NoError(t, err)
	require.Equal(t, int32s(6), bytesOf(t, resp, "OUTPUT"))
	resp.Release()
	for _, r := range batch.Requests {
		r.Release()
		r.Release()
	}
	a.data.Release()
	dropped.data.Release()
}

// A state that is an output too is written into our memory, which the client
// cannot change behind the sequence's back.
func TestAStateThatIsAnOutput(t *testing.T) {
	t.Parallel()
	spec := accumulator(t, 4)
	spec.Config.Output = append(spec.Config.Output, &inferencepb.ModelOutput{Name: "SUM_OUT", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{1}})
	w := load(t, spec)
	s := w.sum(5)
	r := w.step(s, 1)
	place := w.spec.Pool.Get(4)
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "SUM_OUT", Into: tensor.Segment{Buffer: place.Retain(), N: 4}})
	out, err := w.infer(w.inst, r)
	require.NoError(t, err)
	require.Equal(t, int32s(6), place.Bytes(), "it comes to the client's place")
	copy(place.Bytes(), int32s(1000))
	got, _ := s.data.Contiguous()
	require.Equal(t, int32s(6), got)
	out[0].Release()
	place.Release()
	s.data.Release()
}
