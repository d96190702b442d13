package rest

import (
	"math"
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Schema returns the type of a model's input and its shape as in the model's
// metadata, with the batch dimension. ok is false when there is no such input.
type Schema func(name string) (d tensor.DataType, shape tensor.Shape, ok bool)

// DecodeGenerate reads a request of the generate extension: a flat JSON object whose
// members are inputs, by name, or else request parameters. Parameters that the protocol
// defines for inference requests have no meaning here. After an error req holds part of the
// request, and the caller resets it.
func (d *Decoder) DecodeGenerate(req *kserve.Request, text []byte, schema Schema) error {
	if n := int64(len(text)); n > d.limit() {
		return TooLarge(n, d.limit())
	}
	d.req = req
	g := generator{d: d, schema: schema}
	err := g.decode(text)
	d.release()
	return err
}

// generator reads one generate request.
type generator struct {
	d      *Decoder
	schema Schema
	size   int64 // of all inputs so far
}

func (g *generator) decode(text []byte) error {
	r := &g.d.r
	r.Reset(text)
	if !r.Document() {
		return r.Err()
	}
	root := r.Pos()
	if !r.Is('{') {
		return malformed("attempt to get members for non-object")
	}
	if r.Find(root, "id") {
		if err := g.d.id(); err != nil {
			return err
		}
	}
	r.Seek(root)
	return g.members(g.root)
}

// members calls visit with the cursor on the value of each member. decode has checked the
// syntax.
func (g *generator) members(visit func(name string) error) error {
	r := &g.d.r
	r.Enter()
	var seen map[string]struct{}
	for n := 1; ; n++ {
		b, ok := r.Member(n == 1)
		if !ok || b == nil {
			return nil
		}
		if err := g.d.checkParameter(b, n); err != nil {
			return err
		}
		name := string(b)
		_, again := seen[name]
		if again && !g.isInput(name) {
			return repeated("the request", "member '"+name+"'")
		}
		if seen == nil {
			seen = map[string]struct{}{}
		}
		seen[name] = struct{}{}
		if err := visit(name); err != nil {
			return err
		}
	}
}

func (g *generator) isInput(name string) bool {
	_, _, ok := g.schema(name)
	return ok
}

// root reads a member of the whole object.
func (g *generator) root(name string) error {
	if name != "parameters" {
		return g.member(name)
	}
	if g.isInput(name) {
		return status.New(status.InvalidArg, "Keyword 'parameters' for nested schema also given as input tensor name")
	}
	if !g.d.r.Is('{') {
		return malformed("Expected JSON object for keyword: 'parameters': attempt to access JSON non-object as object")
	}
	if err := g.members(g.member); err != nil {
		e := status.From(err)
		return &status.Error{Code: e.Code, Msg: "Converting keyword: 'parameters': " + e.Msg, Cause: err}
	}
	return nil
}

// member reads an input or a parameter.
func (g *generator) member(name string) error {
	kind, shape, ok := g.schema(name)
	if !ok {
		return g.d.customParameter(name)
	}
	if g.d.req.Input(name) != nil {
		id := g.d.req.ID
		if id == "" {
			id = "<id_unknown>"
		}
		return status.New(status.InvalidArg, "[request id: %s] input '%s' already exists in request", id, name)
	}
	t := g.d.req.AddInput()
	t.Name, t.DataType = name, kind
	count := g.count()
	if total, ok := g.nested(t, shape, count); ok && total != count {
		return g.data(t, total)
	}
	if t.Shape, ok = fit(t.Shape[:0], shape, count); !ok {
		return status.New(status.InvalidArg, "The schema can not convert input '%s' to tensor with proper shape", name)
	}
	return g.data(t, count)
}

// count returns how many elements the value at the cursor has; a scalar is one.
func (g *generator) count() int64 {
	r := &g.d.r
	if !r.Is('[') {
		return 1
	}
	start := r.Pos()
	r.Enter()
	n := int64(0)
	for first := true; ; first = false {
		more, ok := r.Element(first)
		if !ok || !more {
			r.Seek(start)
			return n
		}
		r.Skip(0)
		n++
	}
}

// nested gives the input the shape of the nested arrays at the cursor, the outer one of count elements, and
// returns how many elements they have. ok is false for another value and if the model's shape is another one. A
// shape without the first dimension, which is open, is that of a batch of one.
func (g *generator) nested(t *kserve.Tensor, model tensor.Shape, count int64) (total int64, ok bool) {
	r := &g.d.r
	start := r.Pos()
	defer r.Seek(start)
	dims := tensor.Shape{count} // of the first elements
	for len(dims) <= len(model) && r.Is('[') {
		r.Enter()
		r.Space()
		if r.Is('[') {
			dims = append(dims, g.count())
		}
	}
	if r.Seek(start); len(dims) < 2 || !g.regular(dims) {
		return 0, false
	}
	if len(dims) == len(model)-1 && model[0] < 0 {
		dims = slices.Insert(dims, 0, 1)
	}
	if len(dims) != len(model) {
		return 0, false
	}
	for i, n := range model {
		if n >= 0 && n != dims[i] {
			return 0, false
		}
	}
	total, err := dims.Elements()
	t.Shape = append(t.Shape[:0], dims...)
	return total, err == nil
}

// regular moves the cursor behind the value, and reports whether it is nested arrays of these
// lengths.
func (g *generator) regular(dims tensor.Shape) bool {
	r := &g.d.r
	if r.Is('[') != (len(dims) > 0) {
		return false
	}
	if len(dims) == 0 {
		r.Skip(0)
		return true
	}
	r.Enter()
	n := int64(0)
	for first := true; ; first = false {
		more, ok := r.Element(first)
		if !ok || !more {
			return ok && n == dims[0]
		}
		if !g.regular(dims[1:]) {
			return false
		}
		n++
	}
}

// fit appends a shape of count elements to to. It is the model's shape with the last
// variable dimension as large as the fixed dimensions allow, and 1 for the other variable
// dimensions. It reports false when no such shape has count elements.
func fit(to, model tensor.Shape, count int64) (tensor.Shape, bool) {
	for _, dim := range model {
		if dim >= 0 {
			if dim == 0 || count%dim != 0 {
				return to, false
			}
			count /= dim
		}
	}
	to = append(to, model...)
	for i := len(to) - 1; i >= 0; i-- {
		if to[i] < 0 {
			to[i], count = count, 1
		}
	}
	return to, count == 1
}

// data reads the elements at the cursor. Arrays in arrays are flattened; they must
// have count elements in all.
func (g *generator) data(t *kserve.Tensor, count int64) error {
	d := g.d
	switch t.DataType {
	case tensor.Invalid:
		return status.New(status.InvalidArg, "input '%s' has unsupported datatype %s", t.Name, t.DataType)
	case tensor.FP16, tensor.BF16:
		return noHalfInput(t.DataType, t.Name)
	}
	if count == 0 {
		d.r.Skip(0)
		return nil
	}
	size := int64(t.DataType.Size())
	if size > 0 && count > math.MaxInt64/size {
		return status.New(status.InvalidArg, "input '%s' has too many elements of datatype %s", t.Name, t.DataType)
	}
	if t.DataType != tensor.Bytes {
		if err := g.account(t, count*size); err != nil {
			return err
		}
	}
	var err error
	switch array := d.r.Is('['); {
	case array && t.DataType == tensor.Bytes:
		err = d.stringData(t)
	case array:
		err = d.numberData(t, int(count))
	case t.DataType == tensor.Bytes:
		err = d.oneString(t)
	default:
		err = d.oneNumber(t)
	}
	if err == nil && t.DataType == tensor.Bytes {
		err = g.account(t, int64(t.Data.Len()))
	}
	return err
}

// account adds an input to the size of the request.
func (g *generator) account(t *kserve.Tensor, n int64) error {
	if limit := g.d.limit(); n > limit-g.size {
		return status.New(status.InvalidArg, "request size of %d bytes with input '%s' of size %d bytes exceeds the maximum allowed input size of %d."+
			" Use --http-max-input-size to increase the limit.", g.size, t.Name, n, limit)
	}
	g.size += n
	return nil
}
