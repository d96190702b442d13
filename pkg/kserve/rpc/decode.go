package rpc

import (
	"unicode/utf8"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
)

// Request is a ModelInferRequest that a server decodes.
type Request struct {
	// Message is where Unmarshal puts the message; the caller sets it before.
	Message *kserve.Request
	// Regions is the shared memory that the message may name; nil: none.
	Regions kserve.Regions
	// Arrived is a frame of the message that is tensor memory, if its Buffer is not nil.
	Arrived Arrived
	// Err is a mistake in a message that could be read: a *status.Error that the caller
	// returns once it has found the model. The names, the version and the id in Message are
	// valid even then.
	Err error
	// Broken is the reason why the bytes are not a message, or the error of the budget. If
	// it is set, the other fields are not valid.
	Broken error
	// Budget bounds the memory that the message takes in addition to its bytes; nil: no
	// limit.
	Budget Budget
}

// DecodeRequest reads a ModelInferRequest. Raw contents stay in the transport's buffers,
// which the message then holds; typed contents are decoded into one stable buffer. It
// returns an error for bytes that are not such a message.
func (c *Codec) DecodeRequest(data mem.BufferSlice, r *Request) error {
	m := r.Message
	m.Reset()
	d := c.decoder(data)
	defer c.done(d)
	d.regions, d.budget, d.arrived, d.limited = r.Regions, r.Budget, r.Arrived, true
	if err := d.request(m); err != nil {
		return err
	}
	if r.Err = d.tooMany; r.Err != nil {
		return nil
	}
	if r.Err = d.evaluateRequest(m); r.Err != nil {
		return nil
	}
	return d.attachData(m.Inputs)
}

// DecodeResponse reads a ModelInferResponse. It uses memory like DecodeRequest.
func (c *Codec) DecodeResponse(data mem.BufferSlice, r *kserve.Response) error {
	r.Reset()
	d := c.decoder(data)
	defer c.done(d)
	if err := d.response(r); err != nil {
		return err
	}
	return d.evaluateResponse(r)
}

// evaluateResponse finds the data of each output.
func (d *decoder) evaluateResponse(r *kserve.Response) error {
	if d.tooMany != nil {
		return d.tooMany
	}
	if err := d.planData(r.ModelName, "output", r.Outputs); err != nil {
		return err
	}
	return d.attachData(r.Outputs)
}

// decoder is the state of reading one message.
type decoder struct {
	scanner
	codec    *Codec
	regions  kserve.Regions
	raws     []span            // raw contents in order
	contents []contents        // typed contents, in order of their tensors
	inputs   []tensorParameter // parameters of inputs that the protocol defines
	outputs  []tensorParameter // the same of requested outputs
	plan     []dataPlan        // where each tensor's data is
	shared   []*frame          // frames that tensors hold, by index
	arrived  Arrived           // a frame that is tensor memory, if it has a buffer

	limited bool               // the limits of requests apply
	size    int                // bytes of the message
	budget  Budget             // for memory in addition to them; nil: no limit
	counted [lastField + 1]int // elements for which a list has room, by field
	refused [lastField + 1]bool
	tooMany error // the message has too many elements of a list
}

// lastField is the highest field number of the messages that this file reads.
const lastField = 7

func (c *Codec) decoder(data mem.BufferSlice) *decoder {
	d, _ := c.decoders.Get().(*decoder)
	if d == nil {
		d = &decoder{codec: c}
	}
	d.reset(data)
	d.size = d.left
	return d
}

// keep bounds the storage that an idle decoder keeps after a message of many pieces.
const keep = 256

func (c *Codec) done(d *decoder) {
	if cap(d.raws)+cap(d.contents)+cap(d.inputs)+cap(d.outputs)+cap(d.plan)+cap(d.shared) > keep {
		return
	}
	clear(d.contents)
	clear(d.inputs)
	clear(d.outputs)
	clear(d.plan)
	clear(d.shared)
	*d = decoder{
		codec: c, raws: d.raws[:0], contents: d.contents[:0], inputs: d.inputs[:0],
		outputs: d.outputs[:0], plan: d.plan[:0], shared: d.shared[:0],
	}
	c.decoders.Put(d)
}

// request reads the fields of a ModelInferRequest.
func (d *decoder) request(m *kserve.Request) error {
	for {
		num, err := d.field(lastField)
		if err != nil || num == 0 {
			return err
		}
		switch num {
		case 1:
			m.ModelName, err = d.name("model name")
		case 2:
			m.ModelVersion, err = d.name("model version")
		case 3:
			m.ID, err = d.id()
		case 4:
			m.Parameters, err = d.parameter(m.Parameters, &requestParamList)
		case 5:
			err = d.input(m)
		case 6:
			err = d.requestedOutput(m)
		case 7:
			err = d.raw(&requestRawList)
		}
		if err != nil {
			return err
		}
	}
}

// response reads the fields of a ModelInferResponse.
func (d *decoder) response(m *kserve.Response) error {
	for {
		num, err := d.field(6)
		if err != nil || num == 0 {
			return err
		}
		switch num {
		case 1:
			m.ModelName, err = d.name("model name")
		case 2:
			m.ModelVersion, err = d.name("model version")
		case 3:
			m.ID, err = d.id()
		case 4:
			m.Parameters, err = d.parameter(m.Parameters, &responseParamList)
		case 5:
			err = d.responseOutput(m)
		case 6:
			err = d.raw(&responseRawList)
		}
		if err != nil {
			return err
		}
	}
}

// field reads the tag of the next field with a number from 1 to last and returns the
// number; 0 at the end. All these fields are bytes on the wire. Other fields are skipped.
func (d *decoder) field(last protowire.Number) (protowire.Number, error) {
	for d.left > 0 {
		num, typ, err := d.tag()
		switch {
		case err != nil:
			return 0, err
		case num > protowire.MaxValidNumber:
			return 0, errMalformed
		case typ == protowire.BytesType && num <= last:
			return num, nil
		}
		if err := d.skip(num, typ, maxDepth); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// name reads a name, of what is for errors. It is likely to be repeated in later messages.
func (d *decoder) name(what string) (string, error) {
	b, err := d.short(what, kserve.MaxName)
	if err != nil {
		return "", err
	}
	return d.intern(what, b)
}

// short reads a bytes field of limited length. It does not read the bytes of a longer one.
func (d *decoder) short(what string, limit int) ([]byte, error) {
	n, err := d.length()
	if err != nil {
		return nil, err
	}
	if err := d.checkLength(what, n, limit); err != nil {
		return nil, err
	}
	return d.view(n), nil
}

// checkLength applies a limit of requests.
func (d *decoder) checkLength(what string, n, limit int) error {
	if !d.limited {
		return nil
	}
	return kserve.CheckLength(what, n, limit)
}

// bytes reads a bytes field. The memory of a copy is requested from the budget.
func (d *decoder) bytes() ([]byte, error) {
	n, err := d.length()
	if err != nil {
		return nil, err
	}
	if d.pos+n > len(d.data) {
		if err := d.take(n); err != nil {
			return nil, err
		}
	}
	return d.view(n), nil
}

func (d *decoder) intern(what string, b []byte) (string, error) {
	if err := d.checkLength(what, len(b), kserve.MaxName); err != nil {
		return "", err
	}
	s, ok := d.codec.names.get(b)
	if !ok {
		return "", errUTF8
	}
	return s, nil
}

// id reads the ID of a request, which is likely to be new.
func (d *decoder) id() (string, error) {
	b, err := d.short("request ID", kserve.MaxID)
	if err != nil {
		return "", err
	}
	return text(b)
}

// text reads a string of any length.
func (d *decoder) text() (string, error) {
	b, err := d.bytes()
	if err != nil {
		return "", err
	}
	return text(b)
}

func text(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", errUTF8
	}
	return string(b), nil
}
