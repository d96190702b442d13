// Package rest is the HTTP form of the inference messages: a JSON text, followed
// by the raw bytes of the tensors that are not part of the text. It reads
// requests and writes responses for servers. It follows Triton to the letter,
// error texts included. It does not know HTTP itself, nor whether a request fits
// its model.
package rest

import (
	"errors"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
)

// DefaultMaxInput is the default of Decoder.MaxInput, 64 MiB.
const DefaultMaxInput = 64 << 20

// Decoder reads inference requests. It keeps scratch between calls and must not
// be used by two goroutines at once.
//
// A correct request is read in one pass: numbers go straight from the text into
// tensor memory. When that pass finds a mistake, a second one starts over and
// works in Triton's order: the syntax of the whole text first, then what is given
// twice, which Triton accepts, then the members in a fixed order. Of several
// mistakes it therefore reports the same one as Triton.
type Decoder struct {
	// Pool provides the memory of tensors that are not views of the body.
	Pool *tensor.Pool
	// MaxInput limits the JSON text and each tensor that is read from it; 0 means
	// DefaultMaxInput.
	MaxInput int64
	// Regions is the shared memory that requests may name; nil: none.
	Regions kserve.Regions
	// Budget limits the memory that requests take in addition to their text and their tensors;
	// nil: no limit.
	Budget Budget

	r     tritonjson.Reader
	names intern
	req   *kserve.Request
	body  *tensor.Buffer
	tail  int // offset in body of the next binary input
}

// Budget limits the memory of a request.
type Budget interface {
	// Take requests bytes. Its error is sent to the client.
	Take(bytes int) error
}

// A request takes memory of the budget for each listStep elements of a list, and for each long string.
const (
	listStep    = 64
	elementSize = 256 // bytes of an element in memory, at most, while the list grows
	longString  = 4 << 10
)

// element takes the memory of element number n of a list.
func (d *Decoder) element(n int) error {
	if n%listStep != 0 {
		return nil
	}
	return d.take(listStep * elementSize)
}

// text takes the memory for a copy of a string.
func (d *Decoder) text(s []byte) error {
	if len(s) < longString {
		return nil
	}
	return d.take(len(s))
}

func (d *Decoder) take(bytes int) error {
	if d.Budget == nil {
		return nil
	}
	return d.Budget.Take(bytes)
}

// DecodeRequest reads a request from body: headerLen bytes of JSON, then the raw
// bytes of the binary inputs. A headerLen of 0 makes it a raw request, whose
// whole body is the data of the model's only input. The caller sets
// req.ModelName, which messages contain. Binary inputs are views that retain
// body. After an error req holds part of the request, and the caller resets it.
func (d *Decoder) DecodeRequest(req *kserve.Request, body *tensor.Buffer, headerLen int) error {
	if headerLen == 0 {
		return d.raw(req, body)
	}
	if int64(headerLen) > d.limit() {
		return TooLarge(int64(headerLen), d.limit())
	}
	d.req, d.body = req, body
	err := d.decode(body.Bytes()[:headerLen])
	d.release()
	return err
}

func (d *Decoder) release() {
	d.req, d.body = nil, nil
	d.r.Release()
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
	d.start(text)
	if d.fast() {
		return nil
	}
	// Drop what the first pass has put into the request.
	name, version := d.req.ModelName, d.req.ModelVersion
	d.req.Reset()
	d.req.ModelName, d.req.ModelVersion = name, version
	d.start(text)
	return d.exact()
}

func (d *Decoder) start(text []byte) {
	d.r.Reset(text)
	d.tail = len(text)
}

// DecodeIndexRequest reads the body of a repository index request and reports
// whether it requests ready models only.
func DecodeIndexRequest(text []byte) (readyOnly bool, err error) {
	errReady := status.New(status.InvalidArg, "Invalid value for 'ready': expected a boolean")
	o, err := tritonjson.ParseObject(text)
	switch {
	case errors.Is(err, tritonjson.ErrDepth):
		return false, errReady // no other member is read
	case err != nil:
		return false, err
	}
	ready, ok := o.Get("ready")
	if !ok {
		return false, nil
	}
	if readyOnly, err = ready.Bool(); err != nil {
		return false, errReady
	}
	return readyOnly, nil
}
