// The requests of sources that are not in a cloud: ranges of large files and small documents. They are
// not repeated.

package remote

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// smallTimeout bounds a request for a small document, with its answer.
const smallTimeout = 30 * time.Second

// newWebClient returns a client that does not wait forever, and does not follow redirections from HTTPS
// to HTTP.
func newWebClient() *http.Client {
	return &http.Client{Transport: newTransport(), CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if to.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https" {
			return fmt.Errorf("%w: %s redirects to %s, which is not encrypted", ErrDenied, via[len(via)-1].URL.Host, to.URL.Host)
		}
		if len(via) >= 10 {
			return fmt.Errorf("%s redirects too often", via[0].URL.Host)
		}
		return nil
	}}
}

// loopback reports whether a host, with or without a port, is this machine. Only such hosts are
// asked without encryption unless a user wants it.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip.IsLoopback()
}

// checkStatus returns an error for the status of an answer that is not a success.
func checkStatus(r *http.Response) error {
	if r.StatusCode == http.StatusOK || r.StatusCode == http.StatusPartialContent {
		return nil
	}
	return statusError(r.StatusCode, fmt.Sprintf("%s to %s %s", r.Status, r.Request.Method, redacted(r.Request.URL)))
}

// getWhole returns a document of any size, and the tag of the answer.
func getWhole(client doer, r *http.Request) (body io.ReadCloser, tag string, err error) {
	resp, err := send(client, r)
	if err != nil {
		return nil, "", err
	}
	if err := checkStatus(resp); err != nil {
		resp.Body.Close()
		return nil, "", err
	}
	return resp.Body, tagOf(resp.Header), nil
}

// getSmall returns a document of at most limit bytes, and the header of the answer.
func getSmall(client doer, r *http.Request, limit int64) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(r.Context(), smallTimeout)
	defer cancel()
	resp, err := send(client, r.WithContext(ctx))
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if err := checkStatus(resp); err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(text)) > limit:
		return nil, nil, fmt.Errorf("%w: %s has more than %d bytes", ErrRefused, redacted(r.URL), limit)
	}
	return text, resp.Header, nil
}

// getRange reads length bytes from an offset. It returns ErrChanged if the tag of the answer, by
// tagOf, is another one; an empty tag is not compared.
func getRange(client doer, r *http.Request, offset, length int64, tag string) (io.ReadCloser, error) {
	r.Header.Set("Range", rangeHeader(offset, length))
	resp, err := send(client, r)
	if err != nil {
		return nil, err
	}
	if err := acceptTag(resp, tag); err != nil {
		resp.Body.Close()
		return nil, err
	}
	if resp.StatusCode == http.StatusPartialContent {
		return ranged(resp, offset, length)
	}
	// The server ignores ranges and sends everything.
	if _, err := io.CopyN(io.Discard, resp.Body, offset); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return limitedBody{io.LimitReader(resp.Body, length), resp.Body}, nil
}

type limitedBody struct {
	io.Reader
	io.Closer
}

func acceptTag(resp *http.Response, tag string) error {
	if err := checkStatus(resp); err != nil {
		return err
	}
	if tag != "" && tagOf(resp.Header) != tag {
		return ErrChanged
	}
	return nil
}

// wholeSize returns the size of the whole content.
func wholeSize(h http.Header) (int64, error) {
	rest, found := strings.CutPrefix(h.Get("Content-Range"), "bytes ")
	span, whole, sized := strings.Cut(rest, "/")
	if !found || !sized || !strings.Contains(span, "-") {
		return 0, fmt.Errorf("the Content-Range %q is malformed", h.Get("Content-Range"))
	}
	return strconv.ParseInt(whole, 10, 64)
}

// tagOf returns what identifies the content of an answer: its ETag, or when it was changed.
func tagOf(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" {
		return tag
	}
	return h.Get("Last-Modified")
}

// probe returns the size and the tag of a document from a request of one byte, which is allowed
// also where HEAD is not, as by signed addresses. Ranges reports whether the server sends ranges;
// without them the size may be unknown: -1.
func probe(client doer, r *http.Request) (size int64, tag string, ranges bool, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), smallTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	r.Header.Set("Range", "bytes=0-0")
	resp, err := send(client, r)
	if err != nil {
		return 0, "", false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return 0, "", false, fmt.Errorf("%w: %s is empty", ErrRefused, redacted(r.URL))
	}
	if err := checkStatus(resp); err != nil {
		return 0, "", false, err
	}
	if resp.StatusCode != http.StatusPartialContent {
		return resp.ContentLength, tagOf(resp.Header), false, nil
	}
	size, err = wholeSize(resp.Header)
	return size, tagOf(resp.Header), true, err
}
