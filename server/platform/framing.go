package platform

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"triton/pkg/status"
	"triton/server/http1"
)

// framing frames binary tensor data for platforms, which drop custom headers: the content type contains
// the length of the JSON text in front of the data. It is a content type up to the length, such as
// "application/vnd.sagemaker-triton.binary+json;json-header-size=".
type framing string

// Request converts the request for the KServe API: it sets the header with the length and
// drops the headers for compression, which the platforms do not support. The error is for
// the client.
func (f framing) Request(x *http1.Exchange) error {
	x.Header = http1.Header{}
	text := x.Get("content-type")
	at := strings.Index(text, string(f))
	if at < 0 {
		return nil
	}
	if at > 0 {
		return status.New(status.InvalidArg, "expect MIME type for binary data starts with '%s', got: %s", string(f), text)
	}
	n, err := f.length(text[len(f):], x.Length)
	if err != nil {
		return err
	}
	x.Header.JSONLength, x.Header.HasJSONLength = strconv.FormatInt(n, 10), true
	return nil
}

// length reads the number in front of a text and ignores what follows it, as Triton does. The
// length of a body of unknown length is checked later.
func (f framing) length(text string, body int64) (int64, error) {
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

// Reply moves the length in a reply of the KServe API to its content type. It is for
// Exchange.BeforeSend.
func (f framing) Reply(x *http1.Exchange) {
	if x.JSONSize >= 0 {
		x.ContentType, x.JSONSize = string(f)+strconv.Itoa(x.JSONSize), -1
	}
}

// redirect gives the request another method and path. The path has the form of a request
// line; a path that is not valid there is an error.
func redirect(x *http1.Exchange, method, path string) error {
	u, err := new(url.URL).Parse(path)
	if err != nil || u.Host != "" {
		return status.New(status.InvalidArg, "invalid path '%s'", path)
	}
	x.Method, x.Path = method, u.EscapedPath()
	return nil
}
