// Package mimeframe carries tensor data in binary over the HTTP of cloud
// platforms, which pass on no headers of their own making: the length of the JSON
// text in front of the data stands in the content type.
package mimeframe

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"triton/pkg/status"
)

// lengthHeader is what the protocol uses without such a platform.
const lengthHeader = "Inference-Header-Content-Length"

// Type is a content type up to the length, such as
// "application/vnd.sagemaker-triton.binary+json;json-header-size=".
type Type string

// Request is the request as the protocol's own front end reads it. The platforms
// have no compression. An error is the client's.
func (t Type) Request(r *http.Request) (*http.Request, error) {
	r = r.Clone(r.Context())
	for _, name := range []string{lengthHeader, "Content-Encoding", "Accept-Encoding"} {
		r.Header.Del(name)
	}
	text := r.Header.Get("Content-Type")
	at := strings.Index(text, string(t))
	if at < 0 {
		return r, nil
	}
	if at > 0 {
		return nil, status.New(status.InvalidArg, "expect MIME type for binary data starts with '%s', got: %s", string(t), text)
	}
	n, err := t.length(text[len(t):], r.ContentLength)
	if err != nil {
		return nil, err
	}
	r.Header.Set(lengthHeader, strconv.FormatInt(n, 10))
	return r, nil
}

// length reads the number in front of a text; what follows it is ignored, as by
// Triton. Whether it fits a body of unknown length is found later.
func (t Type) length(text string, body int64) (int64, error) {
	digits := strings.TrimLeft(text, " \t")
	end := 0
	for end < len(digits) && (digits[end] >= '0' && digits[end] <= '9' || end == 0 && (digits[end] == '-' || digits[end] == '+')) {
		end++
	}
	n, err := strconv.ParseInt(digits[:end], 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, status.New(status.InvalidArg, "Unable to parse inference header size, value is out of range, got: %s", text)
	case err != nil:
		return 0, status.New(status.InvalidArg, "Unable to parse inference header size, got: %s", text)
	case n < 0 || body >= 0 && n > body:
		return 0, status.New(status.InvalidArg, "inference header size should be in range (0, %d), got: %s", body, text)
	}
	return n, nil
}

// Writer writes a response of the protocol's own front end in the platform's
// form.
func (t Type) Writer(w http.ResponseWriter) http.ResponseWriter {
	return &writer{ResponseWriter: w, kind: t}
}

type writer struct {
	http.ResponseWriter
	kind  Type
	begun bool
}

func (w *writer) WriteHeader(code int) {
	if !w.begun {
		w.begun = true
		h := w.Header()
		if n := h.Get(lengthHeader); n != "" {
			h.Del(lengthHeader)
			h.Set("Content-Type", string(w.kind)+n)
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *writer) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush sends what was written so far.
func (w *writer) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// To is the request under another method and path. The path is as it stands in a
// request line; the error says that it cannot stand there.
func To(r *http.Request, method, path string) (*http.Request, error) {
	u, err := r.URL.Parse(path)
	if err != nil || u.Host != r.URL.Host {
		return nil, status.New(status.InvalidArg, "invalid path '%s'", path)
	}
	r = r.Clone(r.Context())
	r.Method, r.URL = method, u
	return r, nil
}
