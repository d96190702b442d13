package httpapi

import (
	"io"
	"net/http"
	"strconv"
)

// handler carries exchanges over net/http.
type handler struct{ api *api }

// smallReply is up to where the pieces of a reply are put together first, so
// that they leave in one system call.
const smallReply = 16 << 10

// The values of headers that repeat, ready to stand in a header map.
var (
	typeValues = [...][]string{
		textPlain: {contentTypes[textPlain]}, jsonText: {contentTypes[jsonText]}, octetStream: {contentTypes[octetStream]},
	}
	understood = []string{"gzip, deflate"}
)

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := h.api.begin()
	defer h.api.end(x)
	x.ctx, x.method, x.path = r.Context(), r.Method, r.URL.EscapedPath()
	x.length, x.body = r.ContentLength, r.Body
	if v := r.Header["Inference-Header-Content-Length"]; len(v) > 0 {
		x.header.jsonLength, x.header.hasJSONLength = v[0], true
	}
	if v := r.Header["Content-Encoding"]; len(v) > 0 {
		x.header.contentEncoding = v[0]
	}
	if v := r.Header["Accept-Encoding"]; len(v) > 0 {
		x.header.acceptEncoding = v[0]
	}
	h.api.serve(x)
	x.drain()
	x.send(w, r.Method == http.MethodHead)
}

// drain reads what is left of the body, so that a client which sends all of it
// before it looks for an answer gets to see the answer.
func (x *exchange) drain() {
	if !x.drained && x.length != 0 && x.body != nil {
		_, _ = io.CopyN(io.Discard, x.body, maxBody)
	}
}

// send writes the reply. Errors mean that the client is gone.
func (x *exchange) send(w http.ResponseWriter, bare bool) {
	h := w.Header()
	h["Date"] = nil // as Triton, and it costs to make
	h["Content-Type"] = typeValues[x.form]
	h["Content-Length"] = []string{strconv.Itoa(x.size())}
	if x.headerSize >= 0 {
		h["Inference-Header-Content-Length"] = []string{strconv.Itoa(x.headerSize)}
	}
	if x.encoding != "" {
		h["Content-Encoding"] = []string{x.encoding}
	}
	if x.hint {
		h["Accept-Encoding"] = understood
	}
	w.WriteHeader(x.status)
	if bare {
		return
	}
	if x.size() <= smallReply {
		for i := range x.tail {
			x.text = append(x.text, x.tail[i].Bytes()...)
		}
		_, _ = w.Write(x.text)
		return
	}
	if _, err := w.Write(x.text); err != nil {
		return
	}
	for i := range x.tail {
		if _, err := w.Write(x.tail[i].Bytes()); err != nil {
			return
		}
	}
}
