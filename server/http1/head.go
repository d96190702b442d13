package http1

import (
	"bytes"
	"net/http"
)

// head is the line and headers of one request. Strings are kept from request to request, since
// most repeat.
type head struct {
	Header
	method string
	path   string
	query  string // without the question mark
	length int64
	close  bool
	lines  headerLines // part of the connection's buffer, until the next request is read
}

var crlf = []byte("\r\n")

// parse reads a request's line and headers from the start of b. It returns their length, 0
// when they are incomplete, and -1 for requests in any but the plainest form, which
// net/http then parses.
func (h *head) parse(b []byte) int {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if bareLF(b) { // such a head may end without \r\n\r\n
			return -1
		}
		return 0
	}
	line, rest, _ := bytes.Cut(b[:end+2], crlf)
	if !h.requestLine(line) {
		return -1
	}
	h.length, h.close, h.HasJSONLength, h.lines = 0, false, false, rest
	var f fields
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, crlf)
		name, value, ok := cutHeader(line)
		if !ok || !h.field(&f, name, value) {
			return -1
		}
	}
	if f.host == nil {
		return -1
	}
	h.ContentEncoding = reuse(h.ContentEncoding, f.contentEncoding)
	h.AcceptEncoding = reuse(h.AcceptEncoding, f.acceptEncoding)
	h.JSONLength, h.HasJSONLength = reuse(h.JSONLength, f.jsonLength), f.jsonLength != nil
	return end + 4
}

// bareLF reports whether any line ends without a carriage return.
func bareLF(b []byte) bool {
	for i, c := range b {
		if c == '\n' && (i == 0 || b[i-1] != '\r') {
			return true
		}
	}
	return false
}

// fields are the values of headers that may occur only once; nil if absent.
type fields struct{ host, length, contentEncoding, acceptEncoding, jsonLength []byte }

// field records one header. It returns false if net/http has to parse the request.
func (h *head) field(f *fields, name, value []byte) bool {
	switch len(name) {
	case len("Host"):
		return !equalFold(name, "host") || setOnce(&f.host, value)
	case len("Expect"):
		return !equalFold(name, "expect")
	case len("Upgrade"):
		return !equalFold(name, "upgrade") && !equalFold(name, "trailer")
	case len("Connection"):
		return !equalFold(name, "connection") || h.connection(value)
	case len("Content-Length"):
		if equalFold(name, "content-length") {
			var ok bool
			h.length, ok = parseLength(value)
			return ok && setOnce(&f.length, value)
		}
	case len("Accept-Encoding"):
		return !equalFold(name, "accept-encoding") || setOnce(&f.acceptEncoding, value)
	case len("Content-Encoding"):
		return !equalFold(name, "content-encoding") || setOnce(&f.contentEncoding, value)
	case len("Transfer-Encoding"):
		return !equalFold(name, "transfer-encoding")
	case len("Inference-Header-Content-Length"):
		return !equalFold(name, "inference-header-content-length") || setOnce(&f.jsonLength, value)
	}
	return true
}

// setOnce sets a value and reports whether it was not set before. An empty value is an empty slice,
// not nil.
func setOnce(to *[]byte, value []byte) bool {
	first := *to == nil
	*to = value
	return first
}

// requestLine reads "GET /path HTTP/1.1", or the same with POST.
func (h *head) requestLine(line []byte) bool {
	path, ok := bytes.CutSuffix(line, []byte(" HTTP/1.1"))
	if !ok {
		return false
	}
	if p, ok := bytes.CutPrefix(path, []byte("POST ")); ok {
		h.method, path = http.MethodPost, p
	} else if p, ok := bytes.CutPrefix(path, []byte("GET ")); ok {
		h.method, path = http.MethodGet, p
	} else {
		return false
	}
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	for _, c := range path {
		if c <= ' ' || c >= 0x7F || c == '#' {
			return false
		}
	}
	path, query, _ := bytes.Cut(path, []byte("?"))
	h.path, h.query = reuse(h.path, path), reuse(h.query, query)
	return true
}

// connection reads the value of a Connection header.
func (h *head) connection(value []byte) bool {
	switch {
	case equalFold(value, "close"):
		h.close = true
		return true
	case equalFold(value, "keep-alive"):
		return true
	}
	return false
}

// reuse returns b as a string, the old one if equal.
func reuse(old string, b []byte) string {
	if old == string(b) {
		return old
	}
	return string(b)
}
