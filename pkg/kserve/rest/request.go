package rest

import (
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// DefaultMaxInput is the default of Decoder.MaxInput, 64 MiB.
const DefaultMaxInput = 64 << 20

// maxScratch is what a decoder keeps of its memory for strings.
const maxScratch = 64 << 10

// Decoder reads inference requests. It keeps scratch between calls and must not
// be used by two goroutines at once.
//
// A good request is read in one pass: numbers go straight from the text into
// tensor memory. When that pass meets anything wrong it starts again the way
// Triton works (the syntax of the whole text first, then the members in a fixed
// order, first of duplicates), so that of several faults the same one is
// reported.
type Decoder struct {
	// Pool is where tensors that are not views on the body come from.
	Pool *tensor.Pool
	// MaxInput limits the JSON text and each tensor that comes from it; 0 stands
	// for DefaultMaxInput.
	MaxInput int64
	// Regions is the shared memory that requests may name; nil: none.
	Regions kserve.Regions

	r     reader
	names intern
	req   *kserve.Request
	body  *tensor.Buffer
	tail  int // where in body the next binary input starts
}

// DecodeRequest reads a request from body: headerLen bytes of JSON, then the raw
// bytes of the binary inputs. A headerLen of 0 makes it a raw request, whose
// whole body is the data of the model's only input. req.ModelName must be set,
// for messages. Binary inputs are views that retain body. After an error req
// holds part of the request and is still to be reset.
func (d *Decoder) DecodeRequest(req *kserve.Request, body *tensor.Buffer, headerLen int) error {
	if headerLen == 0 {
		return d.raw(req, body)
	}
	if int64(headerLen) > d.limit() {
		return TooLarge(int64(headerLen), d.limit())
	}
	d.req, d.body = req, body
	err := d.decode(body.Bytes()[:headerLen])
	d.req, d.body, d.r.b = nil, nil, nil
	if cap(d.r.scratch) > maxScratch {
		d.r.scratch = nil
	}
	return err
}

// TooLarge is the error of a JSON text of n bytes over the limit.
func TooLarge(n, limit int64) error {
	return status.New(status.InvalidArg, "request JSON size of %d bytes exceeds the maximum allowed input size of %d bytes."+
		" Use --http-max-input-size to increase the limit.", n, limit)
}

func (d *Decoder) limit() int64 {
	if d.MaxInput > 0 {
		return d.MaxInput
	}
	return DefaultMaxInput
}

func (d *Decoder) raw(req *kserve.Request, body *tensor.Buffer) error {
	if n := int64(body.Len()); n > d.limit() {
		return status.New(status.InvalidArg, "Raw input has a byte_size (%d bytes) that exceeds the maximum allowed value of %d bytes."+
			" Use --http-max-input-size to increase the limit.", n, d.limit())
	}
	req.Raw, req.BinaryOutput = true, true
	in := req.AddInput()
	if body.Len() > 0 {
		in.Data = tensor.SliceData(body, 0, body.Len())
	}
	return nil
}

func (d *Decoder) decode(text []byte) error {
	d.r.reset(text)
	d.tail = len(text)
	if d.fast() {
		return nil
	}
	d.restart()
	d.r.reset(text)
	d.tail = len(text)
	return d.exact()
}

// restart forgets what the fast pass has put into the request.
func (d *Decoder) restart() {
	name, version := d.req.ModelName, d.req.ModelVersion
	d.req.Reset()
	d.req.ModelName, d.req.ModelVersion = name, version
}

// fast reads the request in text order; false when anything is unusual.
func (d *Decoder) fast() bool {
	r := &d.r
	r.space()
	if !r.is('{') {
		return false
	}
	r.i++
	var id, parameters, inputs, outputs bool
	for first := true; ; first = false {
		name, ok := r.member(first)
		switch {
		case !ok:
			return false
		case name == nil:
			return inputs && r.end() && d.tail == d.body.Len()
		case string(name) == "id" && !id:
			id = true
			ok = d.id() == nil
		case string(name) == "parameters" && !parameters:
			parameters = true
			ok = d.parameters() == nil
		case string(name) == "inputs" && !inputs:
			inputs = true
			ok = r.is('[') && d.inputs((*Decoder).input) == nil
		case string(name) == "outputs" && !outputs:
			outputs = true
			ok = r.is('[') && d.outputs((*Decoder).output) == nil
		default:
			ok = r.skip(1)
		}
		if !ok {
			return false
		}
	}
}

// exact reads the request in Triton's order. The syntax is known to be right
// after its first step, so the readers below it can only fail for their own
// reasons.
func (d *Decoder) exact() error {
	r := &d.r
	root := r.i
	if !r.document() {
		return r.err()
	}
	r.i = root
	r.space()
	root = r.i
	if r.find(root, "id") {
		if err := d.id(); err != nil {
			return err
		}
	}
	if r.find(root, "parameters") {
		if err := d.parameters(); err != nil {
			return err
		}
	}
	if !r.find(root, "inputs") {
		return missing("inputs")
	}
	if !r.is('[') {
		return within("Unable to parse 'inputs'", errArray)
	}
	if err := d.inputs((*Decoder).inputExact); err != nil {
		return err
	}
	if d.tail != d.body.Len() {
		return status.New(status.InvalidArg, "unexpected additional input data for model '%s'", d.req.ModelName)
	}
	if !r.find(root, "outputs") {
		return nil
	}
	if !r.is('[') {
		return within("Unable to parse 'outputs'", errArray)
	}
	return d.outputs((*Decoder).outputExact)
}

// find puts the cursor on the value of an object's first member of that name;
// false when there is none or no object at all. The syntax must be right.
func (r *reader) find(object int, name string) bool {
	r.i = object
	if !r.is('{') {
		return false
	}
	r.i++
	for first := true; ; first = false {
		got, ok := r.member(first)
		if !ok || got == nil {
			return false
		}
		if string(got) == name {
			return true
		}
		if !r.skip(0) {
			return false
		}
	}
}

func (d *Decoder) id() error {
	if !d.r.is('"') {
		return within("Unable to parse 'id'", errString)
	}
	s, ok := d.r.str()
	if !ok {
		return d.r.err()
	}
	d.req.ID = string(s)
	return nil
}

func (d *Decoder) inputs(one func(*Decoder, *kserve.Tensor) error) error {
	r := &d.r
	r.i++
	for first := true; ; first = false {
		more, ok := r.element(first)
		if !ok {
			return r.err()
		}
		if !more {
			return nil
		}
		if err := one(d, d.req.AddInput()); err != nil {
			return err
		}
	}
}
