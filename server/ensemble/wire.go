package ensemble

import (
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// wire is a tensor of the ensemble while a request runs: the values that it got
// and that somebody is still to read. The values of a model that answers many
// times are numbered by iterations.
type wire struct {
	next   int
	values []value
	shape  tensor.Shape // storage that nothing uses
}

// value is one value of a tensor.
type value struct {
	iteration int
	readers   int  // that have not had it
	absent    bool // an optional input that was not given, an output that was not made
	rows      int  // of the request that made it; 0: its model does not batch
	member    member
	changed   bool // its model said what the member is
	dataType  tensor.DataType
	shape     tensor.Shape
	data      tensor.Data
}

var noData tensor.Data

// launch is a step that has all its inputs.
type launch struct{ step, iteration int }

// spareShape is storage for the shape of a new value.
func (f *flow) spareShape(t int) tensor.Shape {
	w := &f.wires[t]
	s := w.shape[:0]
	w.shape = nil
	return s
}

// arrive gives a tensor its next value and notes the steps that are ready then.
func (f *flow) arrive(t int, v value) {
	w := &f.wires[t]
	v.iteration = w.next
	w.next++
	for _, s := range f.e.graph.readers[t] {
		if f.waits(s, t) {
			v.readers++
		}
	}
	if v.readers == 0 {
		v.data.Release()
		w.shape = v.shape
		return
	}
	w.values = append(w.values, v)
	last := -1
	for _, s := range f.e.graph.readers[t] {
		if s != last && f.waits(s, t) && f.complete(s, v.iteration) {
			f.ready = append(f.ready, launch{s, v.iteration})
		}
		last = s
	}
}

// complete says whether a step has all inputs of an iteration.
func (f *flow) complete(s, iteration int) bool {
	for i := range f.reads(s) {
		if t := f.reads(s)[i].tensor; f.waits(s, t) && f.wires[t].find(iteration) == nil {
			return false
		}
	}
	return true
}

// reads are the tensors that a step reads; the last step is the answer.
func (f *flow) reads(s int) []port {
	if g := f.e.graph; s < g.answer() {
		return g.steps[s].inputs
	}
	return f.e.graph.outputs
}

// waits says whether a step wants a tensor that it is mapped to: the answer only
// wants the outputs that the request asks for.
func (f *flow) waits(s, t int) bool {
	return f.active[s] && (s < f.e.graph.answer() || f.wanted[t])
}

func (w *wire) find(iteration int) *value {
	for i := range w.values {
		if w.values[i].iteration == iteration {
			return &w.values[i]
		}
	}
	return nil
}

// read moves a value into t, or lets t share it when others are to read it too.
// The result is the value without its data.
func (w *wire) read(iteration int, t *kserve.Tensor) value {
	v := w.find(iteration)
	got := *v
	t.DataType = v.dataType
	t.Shape = append(t.Shape[:0], v.shape...)
	if v.readers--; v.readers > 0 {
		t.Data = v.data.Clone()
	} else {
		t.Data = v.data
		w.drop(v)
	}
	got.shape, got.data = nil, noData
	return got
}

// drop removes a value whose data is somebody else's now.
func (w *wire) drop(v *value) {
	i := slices.IndexFunc(w.values, func(o value) bool { return o.iteration == v.iteration })
	w.shape = v.shape
	w.values = slices.Delete(w.values, i, i+1)
}

// reset releases what nobody has read.
func (w *wire) reset() {
	for i := range w.values {
		w.values[i].data.Release()
	}
	clear(w.values)
	w.next, w.values = 0, w.values[:0]
}

// output is an output that most likely stands at index i; nil when there is
// none.
func output(r *infer.Response, i int, name string) *kserve.Tensor {
	if i < len(r.Outputs) && r.Outputs[i].Name == name {
		return &r.Outputs[i]
	}
	return r.Output(name)
}
