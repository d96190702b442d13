package httpapi

import (
	"strconv"

	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/frontend"
	"triton/server/http1"
	"triton/server/infer"
	"triton/server/memory"
	"triton/server/trace"
)

// exchange is an HTTP exchange with the state of the API, pooled together.
type exchange struct {
	*http1.Exchange
	api     *api
	carrier trace.Carrier // reads the request's headers
	decoder rest.Decoder
	encoder rest.Encoder
	perRequest
}

// perRequest is the state of one request; end resets it.
type perRequest struct {
	// textLen is the length of the JSON text in front of the tensor data according to the
	// headers; the data gets an aligned address.
	textLen int
	began   int64 // by infer.Now; 0 unless the request may be traced or logged

	tailSegments []tensor.Segment // follow Text in the reply: http1's Tail
	tailSize     int
	resp         *infer.Response // owns their memory
	// disconnected reports that the client has disconnected, so that no reply is sent.
	disconnected bool

	// requestMemory is the memory of the request besides its body and tensors, replyMemory that of a long text of
	// the reply. For a caller they count the body and the tensors too.
	requestMemory, replyMemory memory.Charge
	caller                     *memory.Caller // nil: it is not told apart from others

	permission *permission     // nil without a guard
	trace      *frontend.Trace // nil for most
	model      string
	id         string
	received   int64 // bytes of the body
	sent       int64 // bytes in chunks
}

// begin returns the state that stays with a pooled exchange.
func (a *api) begin(in *http1.Exchange) *exchange {
	x, ok := in.State.(*exchange)
	if !ok || x.api != a {
		x = &exchange{Exchange: in, api: a}
		x.carrier = func(name string) string { return x.Get(name) }
		x.decoder.Pool, x.decoder.MaxInput, x.decoder.Regions, x.decoder.Budget = a.pool, a.maxInput, a.opts.Regions, &x.requestMemory
		in.State = x
	}
	x.requestMemory, x.replyMemory = a.opts.Memory.NewCharge(memory.Messages), a.opts.Memory.NewCharge(memory.Replies)
	if a.timed {
		x.began = infer.Now()
	}
	return x
}

// end releases the memory of the reply.
func (x *exchange) end() {
	x.encoder.Release()
	if x.resp != nil {
		x.resp.Release()
	}
	x.endPermission()
	x.requestMemory.End()
	x.replyMemory.End()
	x.caller.Leave()
	x.perRequest = perRequest{}
}

// reply sends the answer unless it was sent in chunks or the client disconnected.
func (x *exchange) reply() {
	if x.Started() || x.disconnected {
		return
	}
	if more := len(x.Text) - x.replyMemory.Bytes(); more > memory.Uncounted { // of a call that is no inference
		if err := x.replyMemory.Take(more); err != nil {
			x.fail(err)
		}
	}
	for i := range x.tailSegments {
		x.Tail = append(x.Tail, x.tailSegments[i].Bytes())
	}
	x.api.pool.CopiedToClient(x.Copied())
	x.Send()
}

// countFor counts the memory of the request for its caller, before any of its body is read.
func (x *exchange) countFor(name string) {
	x.caller = x.api.opts.Memory.Enter(name)
	x.requestMemory.For(x.caller)
	x.replyMemory.For(x.caller)
}

// Stop implements memory.Sender: it ends the wait for the rest of the body.
func (x *exchange) Stop() { x.StopBody() }

// fail makes the reply an error.
func (x *exchange) fail(err error) {
	e := status.From(err)
	if e.RetryAfter > 0 {
		x.addHeader("Retry-After", strconv.FormatInt(e.RetrySeconds(), 10))
	}
	x.refuse(e.Code.HTTP(), e.Msg)
}

func (x *exchange) refuse(code int, text string) {
	x.Status = code
	x.Text = appendError(x.Text[:0], text)
}

// HeaderValue returns the first value of a request's header, for rules that choose a version.
func (x *exchange) HeaderValue(name string) string { return x.Get(name) }

// addHeader adds a header to the reply.
func (x *exchange) addHeader(name, value string) {
	x.Extra = append(x.Extra, http1.Field{Name: name, Value: value})
}
