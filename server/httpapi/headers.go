package httpapi

import (
	"bytes"
	"net/http"
	"strings"
)

// headers are all the headers of a request, for the few features that ask for
// other ones than every request is looked at for.
type headers interface {
	// get is the first value of a header, by its name in lower case; empty when
	// there is none.
	get(name string) string
	// each calls visit with every header until it returns an error.
	each(visit func(name, value string) error) error
}

// headerLines are the lines of a head, which was checked.
type headerLines []byte

func (h *headerLines) get(name string) string {
	for rest := []byte(*h); len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, crlf)
		if n, v, ok := cutHeader(line); ok && is(n, name) {
			return string(v)
		}
	}
	return ""
}

func (h *headerLines) each(visit func(name, value string) error) error {
	for rest := []byte(*h); len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, crlf)
		n, v, ok := cutHeader(line)
		if !ok {
			continue
		}
		if err := visit(string(n), string(v)); err != nil {
			return err
		}
	}
	return nil
}

// headerMap is the headers as net/http has them. It keeps the names in another
// form than the one they were sent in; each gives them in lower case.
type headerMap http.Header

func (h headerMap) get(name string) string { return http.Header(h).Get(name) }

func (h headerMap) each(visit func(name, value string) error) error {
	for n, vs := range h {
		for _, v := range vs {
			if err := visit(strings.ToLower(n), v); err != nil {
				return err
			}
		}
	}
	return nil
}
