package httpapi

import (
	"context"
	"io"

	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/trace"
)

// exchange is one request and its reply, whatever transport carries them. It is
// pooled; the transport fills in what was asked and sends the answer.
type exchange struct {
	api *api
	asked
	answer
	carry carry // over net/http

	carrier trace.Carrier // reads asked.fields
	text    []byte        // the reply's body begins with it
	out     []byte        // what goes over the connection at once
	extra   []field       // headers of the reply that few have
	decoder rest.Decoder
	encoder rest.Encoder
}

// asked is the request. Of its headers those that every inference looks at are
// at hand, the others in fields.
type asked struct {
	ctx     context.Context
	method  string
	path    string // as sent, without the query
	length  int64  // of the body; -1 when the sender did not say
	header  requestHeader
	fields  headers
	body    io.Reader
	drained bool // the body was read to its end
	// textLen is how long the JSON text in front of the tensor data is, as far as
	// the headers say: the data is put at an aligned address.
	textLen int
	watch   *watch
	chunks  chunks
	remote  string // the client's address; only known when requests are logged
	began   int64  // by infer.Now, when anybody wants to know
}

// answer is the reply: text, then tail. Or the body goes out in chunks while it
// is made, and nothing is left to send then.
type answer struct {
	status     int
	form       contentType
	encoding   string // Content-Encoding
	headerSize int    // Inference-Header-Content-Length; -1: none
	hint       bool   // tell which encodings are understood
	tail       []tensor.Segment
	tailSize   int
	resp       *infer.Response // tail's memory

	started bool // in chunks, the first of which has gone out
	keep    bool // and the connection lives on behind the last
	gone    bool // the client is, and nobody is there to reply to

	trace    *trace.Trace
	model    string
	id       string
	received int64 // bytes of the body that were read
	sent     int64 // bytes in chunks
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
	eventStream
)

var contentTypes = [...]string{
	textPlain:   "text/plain",
	jsonText:    "application/json",
	octetStream: "application/octet-stream",
	eventStream: "text/event-stream; charset=utf-8",
}

// field is one header of a reply.
type field struct{ name, value string }

// chunks is a transport that sends a reply while it is made.
type chunks interface {
	// chunk adds a piece of the body.
	chunk(x *exchange, p []byte) error
	// flush sends what was added; last ends the reply.
	flush(x *exchange, last bool) error
}

// maxKeep bounds the buffers that an idle exchange keeps.
const maxKeep = 1 << 20

func (a *api) newExchange() any {
	x := &exchange{api: a}
	x.carrier = func(name string) string { return x.fields.get(name) }
	x.decoder.Pool, x.decoder.MaxInput, x.decoder.Regions = a.pool, a.maxInput, a.opts.Regions
	return x
}

func (a *api) begin() *exchange {
	x := a.exchanges.Get().(*exchange)
	x.status, x.form, x.headerSize = 200, textPlain, -1
	if a.timed {
		x.began = infer.Now()
	}
	return x
}

// end gives the memory of the reply back, and the exchange.
func (a *api) end(x *exchange) {
	x.encoder.Release()
	if x.resp != nil {
		x.resp.Release()
	}
	clear(x.extra)
	x.asked, x.answer, x.carry = asked{}, answer{}, carry{}
	x.text, x.out, x.extra = kept(x.text), kept(x.out), x.extra[:0]
	a.exchanges.Put(x)
}

// kept is the storage of a buffer, unless it has grown much.
func kept(b []byte) []byte {
	if cap(b) > maxKeep {
		return nil
	}
	return b[:0]
}

// fail makes the reply an error.
func (x *exchange) fail(err error) {
	e := status.From(err)
	x.refuse(e.Code.HTTP(), e.Msg)
}

func (x *exchange) refuse(code int, text string) {
	x.status = code
	x.text = appendError(x.text[:0], text)
}

// say adds a header to the reply.
func (x *exchange) say(name, value string) {
	x.extra = append(x.extra, field{name, value})
}

// size is the length of the reply's body.
func (x *exchange) size() int { return len(x.text) + x.tailSize }
