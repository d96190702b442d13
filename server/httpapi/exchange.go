package httpapi

import (
	"context"
	"io"

	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// exchange is one request and its reply, whatever transport carries them. It is
// pooled; the transport fills the first part and sends the second.
type exchange struct {
	api *api
	ctx context.Context

	// The request. Of its headers only those that matter here are kept.
	method  string
	path    string // as sent, without the query
	length  int64  // of the body; -1 when the sender did not say
	header  requestHeader
	body    io.Reader
	drained bool // the body was read to its end
	// textLen is how long the JSON text in front of the tensor data is, as far as
	// the headers say: the data is put at an aligned address.
	textLen int
	watch   *watch

	// The reply: text, then tail.
	status     int
	form       contentType
	encoding   string // Content-Encoding
	headerSize int    // Inference-Header-Content-Length; -1: none
	hint       bool   // tell which encodings are understood
	text       []byte
	tail       []tensor.Segment
	tailSize   int

	resp    *infer.Response // tail's memory
	decoder rest.Decoder
	encoder rest.Encoder
}

// requestHeader is the headers that an inference looks at.
type requestHeader struct {
	jsonLength      string // Inference-Header-Content-Length
	hasJSONLength   bool
	contentEncoding string
	acceptEncoding  string
}

// contentType is one of the few that replies have.
type contentType uint8

const (
	textPlain contentType = iota // what Triton's HTTP library says of itself
	jsonText
	octetStream
)

var contentTypes = [...]string{
	textPlain:   "text/plain",
	jsonText:    "application/json",
	octetStream: "application/octet-stream",
}

// maxKeep bounds the text buffer that an idle exchange keeps.
const maxKeep = 1 << 20

func (a *api) begin() *exchange {
	x := a.exchanges.Get().(*exchange)
	x.status, x.form, x.headerSize = 200, textPlain, -1
	return x
}

// end gives the memory of the reply back, and the exchange.
func (a *api) end(x *exchange) {
	x.encoder.Release()
	if x.resp != nil {
		x.resp.Release()
	}
	text := x.text[:0]
	if cap(text) > maxKeep {
		text = nil
	}
	x.ctx, x.method, x.path, x.length, x.header, x.body, x.drained, x.watch = nil, "", "", 0, requestHeader{}, nil, false, nil
	x.textLen, x.encoding, x.hint, x.text, x.tail, x.tailSize, x.resp = 0, "", false, text, nil, 0, nil
	a.exchanges.Put(x)
}

// fail makes the reply an error.
func (x *exchange) fail(err error) {
	e := status.From(err)
	x.refuse(e.Code.HTTP(), e.Msg)
}

func (x *exchange) refuse(code int, text string) {
	x.status = code
	x.text = append(x.text[:0], `{"error":`...)
	x.text = rest.AppendString(x.text, text)
	x.text = append(x.text, '}')
}

// size is the length of the reply's body.
func (x *exchange) size() int { return len(x.text) + x.tailSize }
