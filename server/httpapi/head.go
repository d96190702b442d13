package httpapi

import (
	"bytes"
	"net/http"
)

// head is the line and headers of one request. Strings are kept from request to
// request, since most repeat.
type head struct {
	requestHeader
	method string
	path   string
	length int64
	close  bool
	lines  headerLines // on loan from the buffer, until the next request is read
}

var crlf = []byte("\r\n")

// parse reads a request's line and headers from the start of b. It returns
// their length, 0 when more is to come, -1 when anything is not of the plain
// form that this reader vouches for: then net/http has to judge.
func (h *head) parse(b []byte) int {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if bareLF(b) { // such a head may end without the mark looked for
			return -1
		}
		return 0
	}
	line, rest, _ := bytes.Cut(b[:end+2], crlf)
	if !h.requestLine(line) {
		return -1
	}
	h.length, h.close, h.hasJSONLength, h.lines = 0, false, false, rest
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
	h.contentEncoding = reuse(h.contentEncoding, f.contentEncoding)
	h.acceptEncoding = reuse(h.acceptEncoding, f.acceptEncoding)
	h.jsonLength, h.hasJSONLength = reuse(h.jsonLength, f.jsonLength), f.jsonLength != nil
	return end + 4
}

// bareLF says whether any line ends without a carriage return.
func bareLF(b []byte) bool {
	for i, c := range b {
		if c == '\n' && (i == 0 || b[i-1] != '\r') {
			return true
		}
	}
	return false
}

// fields are the values of headers that may come only once here; nil before
// they do.
type fields struct{ host, length, contentEncoding, acceptEncoding, jsonLength []byte }

// field notes one header; false when net/http has to judge.
func (h *head) field(f *fields, name, value []byte) bool {
	switch len(name) {
	case len("Host"):
		return !is(name, "host") || once(&f.host, value)
	case len("Expect"):
		return !is(name, "expect")
	case len("Upgrade"):
		return !is(name, "upgrade") && !is(name, "trailer")
	case len("Connection"):
		return !is(name, "connection") || h.connection(value)
	case len("Content-Length"):
		if is(name, "content-length") {
			var ok bool
			h.length, ok = parseLength(value)
			return ok && once(&f.length, value)
		}
	case len("Accept-Encoding"):
		return !is(name, "accept-encoding") || once(&f.acceptEncoding, value)
	case len("Content-Encoding"):
		return !is(name, "content-encoding") || once(&f.contentEncoding, value)
	case len("Transfer-Encoding"):
		return !is(name, "transfer-encoding")
	case len("Inference-Header-Content-Length"):
		return !is(name, "inference-header-content-length") || once(&f.jsonLength, value)
	}
	return true
}

// once sets a value; false when it was set before. An empty value is a slice of
// no length, not nil.
func once(to *[]byte, value []byte) bool {
	first := *to == nil
	*to = value
	return first
}

// requestLine takes "GET /path HTTP/1.1" and POST.
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
	path, _, _ = bytes.Cut(path, []byte("?"))
	h.path = reuse(h.path, path)
	return true
}

// connection reads the value of a Connection header.
func (h *head) connection(value []byte) bool {
	switch {
	case is(value, "close"):
		h.close = true
		return true
	case is(value, "keep-alive"):
		return true
	}
	return false
}

// cutHeader splits "Name: value". Names must be tokens right before the colon,
// values free of control characters.
func cutHeader(line []byte) (name, value []byte, ok bool) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return nil, nil, false
	}
	name, value = line[:colon], line[colon+1:]
	for _, c := range name {
		if !token[c] {
			return nil, nil, false
		}
	}
	for len(value) > 0 && (value[0] == ' ' || value[0] == '\t') {
		value = value[1:]
	}
	for n := len(value); n > 0 && (value[n-1] == ' ' || value[n-1] == '\t'); n-- {
		value = value[:n-1]
	}
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7F {
			return nil, nil, false
		}
	}
	return name, value, true
}

// token marks the bytes of header names.
var token = func() (t [256]bool) {
	for c := '0'; c <= 'z'; c++ {
		t[c] = c <= '9' || c >= 'a' || c >= 'A' && c <= 'Z'
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] = true
	}
	return t
}()

// is compares without case; lower must be in lower case.
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range len(lower) {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// parseLength reads a Content-Length: digits alone, and not too many.
func parseLength(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// reuse is b as a string, the old one if it is the same.
func reuse(old string, b []byte) string {
	if old == string(b) {
		return old
	}
	return string(b)
}
