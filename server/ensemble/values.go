package ensemble

import (
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// tensorValues holds the values of one tensor that some step has not read yet. A decoupled
// model makes several values, which are numbered by iteration.
type tensorValues struct {
	next   int // iteration of the next value
	values []value
	shape  tensor.Shape // unused storage
}

// value is one value of a tensor.
type value struct {
	iteration      int
	readers        int  // how many steps have not read it
	absent         bool // an optional input that was not given, an output that was not made
	rows           int  // of the request that made it; 0: its model does not batch
	correlation    correlation
	correlationSet bool // the response of its model has set the correlation
	dataType       tensor.DataType
	shape          tensor.Shape
	data           tensor.Data
}

var noData tensor.Data

// readyStep is a step that has all its inputs.
type readyStep struct{ step, iteration int }

// spareShape returns storage for the shape of a new value.
func (f *flow) spareShape(t int) tensor.Shape {
	w := &f.tensors[t]
	s := w.shape[:0]
	w.shape = nil
	return s
}

// arrive adds the next value of a tensor and records the steps that are ready with it.
func (f *flow) arrive(t int, v value) {
	w := &f.tensors[t]
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
			f.ready = append(f.ready, readyStep{s, v.iteration})
		}
		last = s
	}
}

// complete reports whether a step has all inputs of an iteration.
func (f *flow) complete(s, iteration int) bool {
	for i := range f.reads(s) {
		if t := f.reads(s)[i].tensor; f.waits(s, t) && f.tensors[t].find(iteration) == nil {
			return false
		}
	}
	return true
}

// reads returns the tensors that a step reads; the last step is the response.
func (f *flow) reads(s int) []port {
	if g := f.e.graph; s < g.responseStep() {
		return g.steps[s].inputs
	}
	return f.e.graph.outputs
}

// waits reports whether step s waits for tensor t, one of its inputs: steps that are not
// active wait for none, and the response only for the requested outputs.
func (f *flow) waits(s, t int) bool {
	return f.active[s] && (s < f.e.graph.responseStep() || f.wanted[t])
}

func (w *tensorValues) find(iteration int) *value {
	for i := range w.values {
		if w.values[i].iteration == iteration {
			return &w.values[i]
		}
	}
	return nil
}

// read gives t the value of an iteration: by reference if other steps will read it too,
// else the data moves. It returns the value without its shape and data.
func (w *tensorValues) read(iteration int, t *kserve.Tensor) value {
	v := w.find(iteration)
	got := *v
	t.DataType = v.dataType
	t.Shape = append(t.Shape[:0], v.shape...)
	if v.readers--; v.readers > 0 {
		t.Data = v.data.Clone()
	} else {
		t.Data = v.data
		w.remove(v)
	}
	got.shape, got.data = nil, noData
	return got
}

// remove removes a value whose data was moved.
func (w *tensorValues) remove(v *value) {
	i := slices.IndexFunc(w.values, func(o value) bool { return o.iteration == v.iteration })
	w.shape = v.shape
	w.values = slices.Delete(w.values, i, i+1)
}

// reset releases the values that were not read.
func (w *tensorValues) reset() {
	for i := range w.values {
		w.values[i].data.Release()
	}
	clear(w.values)
	w.next, w.values = 0, w.values[:0]
}

// outputNear returns an output by name, with a guess of its index; nil when there is none.
func outputNear(r *infer.Response, i int, name string) *kserve.Tensor {
	if i < len(r.Outputs) && r.Outputs[i].Name == name {
		return &r.Outputs[i]
	}
	return r.Output(name)
}
