package cache_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// TestKeys: requests that differ in anything have different keys. Triton's key leaves out types,
// shapes, parameters and outputs.
func TestKeys(t *testing.T) {
	t.Parallel()
	param := func(p kserve.Parameter) func(*infer.Request) {
		return func(r *infer.Request) { r.Parameters = append(r.Parameters, p) }
	}
	second := func(name string) func(*infer.Request) {
		return func(r *infer.Request) {
			in := r.AddInput()
			in.Name, in.DataType, in.Shape, in.Data = name, tensor.Uint8, tensor.Shape{1}, tensor.NewData(tensor.HeapBuffer([]byte("2")))
		}
	}
	for name, test := range map[string]struct {
		change func(*infer.Request)
		equal  bool
	}{
		"nothing":      {func(*infer.Request) {}, true},
		"id":           {func(r *infer.Request) { r.ID = "7" }, true},
		"priority":     {func(r *infer.Request) { r.Priority, r.TimeoutMicros = 3, 9 }, true},
		"binary":       {func(r *infer.Request) { r.BinaryOutput = true }, true},
		"two segments": {func(r *infer.Request) { r.Inputs[0].Data = pieces("ab", "cd") }, true},
		"bytes":        {func(r *infer.Request) { r.Inputs[0].Data = pieces("abce") }, false},
		"type":         {func(r *infer.Request) { r.Inputs[0].DataType = tensor.Int8 }, false},
		"shape":        {func(r *infer.Request) { r.Inputs[0].Shape = tensor.Shape{2, 2} }, false},
		"name":         {func(r *infer.Request) { r.Inputs[0].Name = "IN2" }, false},
		"one more":     {second("X"), false},
		"outputs":      {func(r *infer.Request) { r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUT"}) }, false},
		"bool":         {param(kserve.Parameter{Name: "p", Kind: kserve.ParamBool}), false},
		"int":          {param(kserve.Parameter{Name: "p", Kind: kserve.ParamInt, Int: 1}), false},
		"string":       {param(kserve.Parameter{Name: "p", Kind: kserve.ParamString, String: "1"}), false},
		"double":       {param(kserve.Parameter{Name: "p", Kind: kserve.ParamDouble, Double: 1}), false},
		"sequence":     {func(r *infer.Request) { r.SequenceID = 1 }, false},
		"start":        {func(r *infer.Request) { r.SequenceStart = true }, false},
		"end":          {func(r *infer.Request) { r.SequenceEnd = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{size: 1 << 20, instances: 1})
			require.Equal(t, "abcd", w.infer(t.Context(), "abcd"))
			r := ask("abcd")
			defer r.Release()
			test.change(r)
			_ = result(w.Infer(t.Context(), r))
			require.Equal(t, test.equal, w.counts().hits == 1)
		})
	}
}

func pieces(texts ...string) tensor.Data {
	var d tensor.Data
	for _, s := range texts {
		b := tensor.HeapBuffer([]byte(s))
		d.Append(b, 0, len(s))
		b.Release()
	}
	return d
}

// TestOrder: the order in which a client writes inputs, outputs and parameters
// does not matter.
func TestOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{size: 1 << 20, instances: 1})
	for _, order := range [][2]string{{"A", "B"}, {"B", "A"}} {
		r := infer.NewUnpooled()
		for _, name := range order {
			in := r.AddInput()
			in.Name, in.DataType, in.Shape, in.Data = name, tensor.Uint8, tensor.Shape{1}, pieces(name)
			r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "O" + name})
			r.Parameters = append(r.Parameters, kserve.Parameter{Name: name, Kind: kserve.ParamUint, Uint: 5})
		}
		_ = result(w.Infer(t.Context(), r))
		r.Release()
	}
	require.EqualValues(t, 1, w.counts().hits)
}

// TestKeysAreStable: keys outlive the program where servers share a cache. If
// this fails on purpose, then servers of two versions share nothing.
func TestKeysAreStable(t *testing.T) {
	t.Parallel()
	store := &spy{}
	w := newWorld(t, setup{size: 1 << 20, instances: 1})
	c := newRunner(w, store)
	r := ask("abcd")
	defer r.Release()
	r.Parameters = append(r.Parameters, kserve.Parameter{Name: "p", Kind: kserve.ParamDouble, Double: 0.5})
	_ = result(c.Infer(t.Context(), r))
	require.Equal(t, "e558cc81b3e191f5ec344584967a93284427b7e552ed1c89f41c603085bbfce4", store.key)
}
