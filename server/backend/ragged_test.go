package backend

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// raggedModel has a ragged input X, every kind of batch input, and an output Y
// that is split by the shapes of X.
func raggedModel(d inferencepb.DataType) *inferencepb.ModelConfig {
	c := &inferencepb.ModelConfig{
		MaxBatchSize: 8,
		Input:        []*inferencepb.ModelInput{{Name: "X", DataType: inferencepb.DataType_TYPE_FP32, Dims: []int64{-1, -1}, AllowRaggedBatch: true}},
		Output:       []*inferencepb.ModelOutput{{Name: "Y", DataType: inferencepb.DataType_TYPE_FP32, Dims: []int64{-1, -1}}},
		BatchOutput: []*inferencepb.BatchOutput{{
			Kind: inferencepb.BatchOutput_BATCH_SCATTER_WITH_INPUT_SHAPE, TargetName: []string{"Y"}, SourceInput: []string{"X"},
		}},
	}
	for kind := range inferencepb.BatchInput_Kind_name {
		k := inferencepb.BatchInput_Kind(kind)
		c.BatchInput = append(c.BatchInput, &inferencepb.BatchInput{
			Kind: k, TargetName: []string{k.String(), k.String() + " again"}, DataType: d, SourceInput: []string{"X"},
		})
	}
	return c
}

func ragged(pool *tensor.Pool, shapes ...tensor.Shape) []*infer.Request {
	var all []*infer.Request
	for _, s := range shapes {
		n, _ := s.ByteSize(tensor.FP32)
		if s[0] == 0 {
			n, _ = s[1:].ByteSize(tensor.FP32)
		}
		all = append(all, request(pool, int(s[0]), Value{Name: "X", DataType: tensor.FP32}, s, sequence(int(n)), 0))
	}
	return all
}

// numbers reads a batch input.
func numbers(d inferencepb.DataType, mem []byte) []int {
	var all []int
	for ; len(mem) > 0; mem = mem[4:] {
		word := binary.NativeEndian.Uint32(mem)
		if d == inferencepb.DataType_TYPE_FP32 {
			all = append(all, int(math.Float32frombits(word)))
		} else {
			all = append(all, int(word))
		}
	}
	return all
}

func TestRaggedBatches(t *testing.T) {
	t.Parallel()
	type tensors map[string]struct {
		shape tensor.Shape
		want  []int
	}
	for name, test := range map[string]struct {
		shapes []tensor.Shape
		total  int64
		want   tensors
	}{
		"the counts 2, 4, 1, 3": {
			[]tensor.Shape{{1, 2, 1}, {1, 4, 1}, {1, 1, 1}, {1, 1, 3}}, 10, tensors{
				"BATCH_ELEMENT_COUNT":                       {tensor.Shape{4}, []int{2, 4, 1, 3}},
				"BATCH_ACCUMULATED_ELEMENT_COUNT":           {tensor.Shape{4}, []int{2, 6, 7, 10}},
				"BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO": {tensor.Shape{5}, []int{0, 2, 6, 7, 10}},
				"BATCH_MAX_ELEMENT_COUNT_AS_SHAPE":          {tensor.Shape{4}, []int{0, 0, 0, 0}},
			},
		},
		"items of shape [2,3] and two of [1,4]": {
			[]tensor.Shape{{1, 2, 3}, {2, 1, 4}}, 14, tensors{
				"BATCH_ELEMENT_COUNT":      {tensor.Shape{2}, []int{6, 8}},
				"BATCH_ITEM_SHAPE":         {tensor.Shape{3, 2}, []int{2, 3, 1, 4, 1, 4}},
				"BATCH_ITEM_SHAPE_FLATTEN": {tensor.Shape{6}, []int{2, 3, 1, 4, 1, 4}},
			},
		},
		"a batch dimension of 0 counts as none": {
			[]tensor.Shape{{1, 2, 1}, {0, 4, 1}}, 6, tensors{
				"BATCH_ELEMENT_COUNT":      {tensor.Shape{2}, []int{2, 4}},
				"BATCH_ITEM_SHAPE":         {tensor.Shape{2, 2}, []int{2, 1, 4, 1}},
				"BATCH_ITEM_SHAPE_FLATTEN": {tensor.Shape{4}, []int{2, 1, 4, 1}},
			},
		},
		"one request": {
			[]tensor.Shape{{1, 0, 3}}, 0, tensors{
				"BATCH_ELEMENT_COUNT":              {tensor.Shape{1}, []int{0}},
				"BATCH_MAX_ELEMENT_COUNT_AS_SHAPE": {tensor.Shape{0}, nil},
				"BATCH_ITEM_SHAPE":                 {tensor.Shape{1, 2}, []int{0, 3}},
			},
		},
	} {
		for _, d := range []inferencepb.DataType{inferencepb.DataType_TYPE_INT32, inferencepb.DataType_TYPE_FP32} {
			t.Run(name+" "+d.String(), func(t *testing.T) {
				t.Parallel()
				pool := tensor.NewPool()
				sig := NewFullSignature(raggedModel(d))
				g := NewGather(sig, pool)
				rs := ragged(pool, test.shapes...)
				for range 2 {
					require.NoError(t, g.Collect(batchOf(rs...)))
					seen := 0
					for i, v := range sig.Inputs {
						in := g.Inputs[i]
						require.True(t, in.Present)
						if v.Name == "X" {
							require.Equal(t, tensor.Shape{test.total}, in.Shape)
							require.Len(t, in.Bytes, int(test.total)*4)
							continue
						}
						require.Equal(t, tensor.DataType(d), v.DataType)
						if want, ok := test.want[v.Name]; ok {
							require.Equal(t, want.shape, in.Shape, v.Name)
							require.Equal(t, want.want, numbers(d, in.Bytes), v.Name)
							seen++
						}
					}
					require.Len(t, test.want, seen)
					require.Len(t, sig.Inputs, 1+2*6)
					g.Release()
				}
				release(rs...)
				require.Zero(t, pool.Outstanding())
			})
		}
	}
}

func TestItemShapesAreThoseOfTheEngine(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	c := raggedModel(inferencepb.DataType_TYPE_INT32)
	c.Input[0].Dims, c.Input[0].Reshape = []int64{-1}, &inferencepb.ModelTensorReshape{Shape: []int64{1, -1, 1}}
	sig := NewFullSignature(c)
	g := NewGather(sig, pool)
	rs := ragged(pool, tensor.Shape{2, 3})
	require.NoError(t, g.Collect(batchOf(rs...)))
	for i, v := range sig.Inputs {
		if v.Kind == inferencepb.BatchInput_BATCH_ITEM_SHAPE && v.Role == BatchInput {
			require.Equal(t, tensor.Shape{2, 3}, g.Inputs[i].Shape)
			require.Equal(t, []int{1, 3, 1, 1, 3, 1}, numbers(c.BatchInput[0].DataType, g.Inputs[i].Bytes))
		}
	}
	g.Release()
	release(rs...)
	require.Zero(t, pool.Outstanding())
}

func TestShapesOutOfNoBytes(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	c := raggedModel(inferencepb.DataType_TYPE_INT32)
	c.MaxBatchSize = 0
	g := NewGather(NewFullSignature(c), pool)
	rs := ragged(pool, tensor.Shape{1, 0, 2})
	rs[0].Inputs[0].Shape = tensor.Shape{1 << 40, 0, 2}
	err := g.Collect(batchOf(rs[0]))
	require.ErrorContains(t, err, "input 'X' has too many rows: [1099511627776,0,2]")
	require.Equal(t, status.InvalidArg, status.CodeOf(err))
	release(rs...)
	require.Zero(t, pool.Outstanding())
}

// A number that does not fit into a batch input is an error and is not truncated.
func TestBatchInputsDoNotWrap(t *testing.T) {
	t.Parallel()
	for kind, shapes := range map[inferencepb.BatchInput_Kind][]tensor.Shape{
		inferencepb.BatchInput_BATCH_ELEMENT_COUNT:                       {{1, 1 << 16, 1 << 15}},
		inferencepb.BatchInput_BATCH_ACCUMULATED_ELEMENT_COUNT:           {{1, 1 << 15, 1 << 15}, {1, 1 << 15, 1 << 15}},
		inferencepb.BatchInput_BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO: {{1, 1 << 15, 1 << 15}, {1, 1 << 15, 1 << 15}},
		inferencepb.BatchInput_BATCH_ITEM_SHAPE:                          {{1, 1 << 32, 0}},
		inferencepb.BatchInput_BATCH_ITEM_SHAPE_FLATTEN:                  {{1, 1, 1}, {1, 0, 1 << 31}},
	} {
		g := NewGather(NewFullSignature(raggedModel(inferencepb.DataType_TYPE_INT32)), nil)
		b := &infer.Batch{}
		for _, s := range shapes {
			r := infer.NewUnpooled()
			in := r.AddInput()
			in.Name, in.Shape = "X", s
			b.Add(r)
		}
		_, err := g.batchInputShape(b, &Value{Name: "N", Kind: kind, Source: "X", Role: BatchInput}, nil)
		require.EqualError(t, err, "batch input 'N' cannot say how large input 'X' is: its numbers have 32 bits", kind)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
}

func TestOutputsAreSplitByTheShapesOfAnInput(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	for name, test := range map[string]struct {
		dims   []int64
		shapes []tensor.Shape
		floats int // of the output
		want   []any
	}{
		"open dimensions": {[]int64{-1, -1}, []tensor.Shape{{1, 2, 3}, {2, 1, 4}}, 14, []any{tensor.Shape{1, 2, 3}, tensor.Shape{2, 1, 4}}},
		"no batch size":   {[]int64{-1, -1}, []tensor.Shape{{0, 2, 3}, {1, 1, 4}}, 10, []any{tensor.Shape{1, 2, 3}, tensor.Shape{1, 1, 4}}},
		"a fixed one":     {[]int64{2, -1}, []tensor.Shape{{1, 7, 3}, {2, 7, 1}}, 10, []any{tensor.Shape{1, 2, 3}, tensor.Shape{2, 2, 1}}},
		"too little":      {[]int64{-1, -1}, []tensor.Shape{{1, 2, 3}, {2, 1, 4}, {1, 1, 1}}, 13, []any{tensor.Shape{1, 2, 3}, "[request id: <id_unknown>] failed to split the output tensor 'Y': no part of shape [2,1,4], by input 'X', is left in 28 bytes", "[request id: <id_unknown>] failed to split the output tensor 'Y': no part of shape [1,1,1], by input 'X', is left in 0 bytes"}},
		"more than there can be": {[]int64{-1}, []tensor.Shape{{1, 1 << 61, 0}, {1, 1 << 62, 0}, {1, 2, 0}}, 2, []any{
			"[request id: <id_unknown>] failed to split the output tensor 'Y': no part of shape [1,2305843009213693952], by input 'X', is left in 8 bytes",
			"[request id: <id_unknown>] failed to split the output tensor 'Y': no part of shape [1,4611686018427387904], by input 'X', is left in 0 bytes",
			"[request id: <id_unknown>] failed to split the output tensor 'Y': no part of shape [1,2], by input 'X', is left in 0 bytes",
		}},
		"too many dimensions": {[]int64{-1, -1, -1}, []tensor.Shape{{1, 2, 3}}, 6, []any{"[request id: <id_unknown>] output 'Y' has more dimensions than input 'X', by whose shape it is split: [1,2,3]"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := raggedModel(inferencepb.DataType_TYPE_INT32)
			c.Output[0].Dims = test.dims
			s := NewScatter(NewFullSignature(c))
			rs := ragged(pool, test.shapes...)
			s.Start(batchOf(rs...))
			buf := pool.Get(test.floats * 4)
			copy(buf.Bytes(), sequence(test.floats*4))
			s.Output(0, tensor.Shape{int64(test.floats)}, buf, 0, test.floats*4)
			buf.Release()
			s.Send()
			at := 0
			for i, r := range rs {
				resp, err := r.Wait(t.Context())
				if text, failed := test.want[i].(string); failed {
					require.EqualError(t, err, text)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, test.want[i], resp.Outputs[0].Shape)
				mem, _ := resp.Outputs[0].Data.Contiguous()
				n, _ := resp.Outputs[0].Shape.ByteSize(tensor.FP32)
				require.Equal(t, sequence(test.floats * 4)[at:at+int(n)], mem)
				at += int(n)
				resp.Release()
			}
			release(rs...)
		})
	}
	require.Zero(t, pool.Outstanding())
}

func BenchmarkRaggedGather(b *testing.B) {
	pool := tensor.NewPool()
	g := NewGather(NewFullSignature(raggedModel(inferencepb.DataType_TYPE_INT32)), pool)
	batch := batchOf(ragged(pool, tensor.Shape{1, 2, 1}, tensor.Shape{1, 64, 4}, tensor.Shape{2, 8, 1}, tensor.Shape{1, 1, 3})...)
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Collect(batch); err != nil {
			b.Fatal(err)
		}
		g.Release()
	}
}

// Memory that the system does not give is an error and no panic.
func TestBatchInputsThatNoMemoryIsThereFor(t *testing.T) {
	t.Parallel()
	g := &Gather{sig: &Signature{}, pool: tensor.NewPool(), need: 1 << 60}
	require.ErrorContains(t, g.copy(&infer.Batch{}), "no memory for the inputs of a batch")
	require.Zero(t, g.pool.Outstanding())
}
