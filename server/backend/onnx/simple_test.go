//go:build cgo && (linux || darwin)

package onnx

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/pkg/tensor"
	"triton/server/infer"
)

func int32s(values ...int32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func ramp(rows int, from, step int32) []byte {
	var v []int32
	for k := range int32(rows * 16) {
		v = append(v, from+k*step)
	}
	return int32s(v...)
}

func simpleRequest(w *world, rows int, from int32) *infer.Request {
	shape := tensor.Shape{int64(rows), 16}
	return w.request(rows,
		input{"INPUT0", tensor.Int32, shape, ramp(rows, from, 3)},
		input{"INPUT1", tensor.Int32, shape, ramp(rows, 5, 1)})
}

func TestBatchEqualsSingles(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, simple(), 8))
	rows := []int{1, 3, 2}
	var rs []*infer.Request
	for k, n := range rows {
		rs = append(rs, simpleRequest(w, n, int32(100*k)))
	}
	together, err := w.infer(w.inst, rs...)
	require.NoError(t, err)
	for k, n := range rows {
		alone, err := w.infer(w.inst, simpleRequest(w, n, int32(100*k)))
		require.NoError(t, err)
		for _, name := range []string{"OUTPUT0", "OUTPUT1"} {
			require.Equal(t, tensor.Shape{int64(n), 16}, together[k].Output(name).Shape)
			require.Equal(t, bytesOf(t, alone[0], name), bytesOf(t, together[k], name))
		}
		require.Equal(t, ramp(n, int32(100*k)+5, 4), bytesOf(t, together[k], "OUTPUT0"))
		alone[0].Release()
		together[k].Release()
	}
}

// batchOf returns a batch that can be run again and again.
func (w *world) batchOf(r *infer.Request) *infer.Batch {
	b := &infer.Batch{}
	b.Add(r)
	w.Cleanup(func() { r.Release(); r.Release() })
	return b
}

func execute(b *infer.Batch, i *instance) error {
	b.Requests[0].Move(infer.Answered, infer.Executing) // as if it were a new one
	if err := i.Execute(context.Background(), b); err != nil {
		return err
	}
	resp, err := b.Requests[0].Wait(context.Background())
	if err == nil {
		resp.Release()
	}
	return err
}

func TestExecuteAllocatesNothing(t *testing.T) {
	if invariant.Enabled {
		t.Skip("not with the race detector, under which pools drop what they are given")
	}
	w := load(t, specOf(t, simple(), 8))
	b := w.batchOf(simpleRequest(w, 1, 0))
	require.NoError(t, execute(b, w.inst))
	require.LessOrEqual(t, testing.AllocsPerRun(200, func() { _ = execute(b, w.inst) }), 0.1)
}

// BenchmarkBareRun is ONNX Runtime's own cost of the batch that
// BenchmarkExecute runs.
func BenchmarkBareRun(b *testing.B) {
	w := load(b, specOf(b, simple(), 8))
	batch := w.batchOf(simpleRequest(w, 1, 0))
	b.ReportAllocs()
	b.ResetTimer()
	require.NoError(b, w.inst.runBare(batch, b.N))
}

func BenchmarkExecute(b *testing.B) {
	w := load(b, specOf(b, simple(), 8))
	batch := w.batchOf(simpleRequest(w, 1, 0))
	b.ReportAllocs()
	for b.Loop() {
		if err := execute(batch, w.inst); err != nil {
			b.Fatal(err)
		}
	}
}
