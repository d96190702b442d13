// Package webget makes the HTTP requests of sources that are not behind a cloud provider's library:
// ranges of large files and small documents. Its errors are those of package remote where they
// apply. It does not repeat requests.
package webget

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"triton/server/store/remote"
	"triton/server/store/remote/web"
)

// SmallTimeout bounds a request for a small document, with its answer.
const SmallTimeout = 30 * time.Second

// NewClient returns a client that does not wait forever, and does not follow redirections from HTTPS
// to HTTP.
func NewClient() *http.Client {
	return &http.Client{Transport: web.NewTransport(), CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if to.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https" {
			return fmt.Errorf("%w: %s redirects to %s, which is not encrypted", remote.ErrDenied, via[len(via)-1].URL.Host, to.URL.Host)
		}
		if len(via) >= 10 {
			return fmt.Errorf("%s redirects too often", via[0].URL.Host)
		}
		return nil
	}}
}

// Loopback reports whether a host, with or without a port, is this machine. Only such hosts are
// asked without encryption unless a user wants it.
func Loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip.IsLoopback()
}

// Status returns an error for the status of an answer that is not a success.
func Status(r *http.Response) error {
	if r.StatusCode == http.StatusOK || r.StatusCode == http.StatusPartialContent {
		return nil
	}
	return web.StatusError(r.StatusCode, fmt.Sprintf("%s to %s %s", r.Status, r.Request.Method, web.Redacted(r.Request.URL)))
}

// Whole returns a document of any size, and the tag of the answer.
func Whole(client web.Doer, r *http.Request) (body io.ReadCloser, tag string, err error) {
	resp, err := web.Send(client, r)
	if err != nil {
		return nil, "", err
	}
	if err := Status(resp); err != nil {
		resp.Body.Close()
		return nil, "", err
	}
	return resp.Body, TagOf(resp.Header), nil
}

// Small returns a document of at most limit bytes, and the header of the answer.
func Small(client web.Doer, r *http.Request, limit int64) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(r.Context(), SmallTimeout)
	defer cancel()
	resp, err := web.Send(client, r.WithContext(ctx))
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if err := Status(resp); err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(text)) > limit:
		return nil, nil, fmt.Errorf("%w: %s has more than %d bytes", remote.ErrRefused, web.Redacted(r.URL), limit)
	}
	return text, resp.Header, nil
}

// Range reads length bytes from an offset. It returns ErrChanged if the tag of the answer, by
// TagOf, is another one; an empty tag is not compared.
func Range(client web.Doer, r *http.Request, offset, length int64, tag string) (io.ReadCloser, error) {
	r.Header.Set("Range", web.Range(offset, length))
	resp, err := web.Send(client, r)
	if err != nil {
		return nil, err
	}
	if err := accept(resp, tag); err != nil {
		resp.Body.Close()
		return nil, err
	}
	if resp.StatusCode == http.StatusPartialContent {
		return web.Ranged(resp, offset, length)
	}
	// The server ignores ranges and sends everything.
	if _, err := io.CopyN(io.Discard, resp.Body, offset); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return limited{io.LimitReader(resp.Body, length), resp.Body}, nil
}

type limited struct {
	io.Reader
	io.Closer
}

func accept(resp *http.Response, tag string) error {
	if err := Status(resp); err != nil {
		return err
	}
	if tag != "" && TagOf(resp.Header) != tag {
		return remote.ErrChanged
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

// TagOf returns what identifies the content of an answer: its ETag, or when it was changed.
func TagOf(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" {
		return tag
	}
	return h.Get("Last-Modified")
}

// Probe returns the size and the tag of a document from a request of one byte, which is allowed
// also where HEAD is not, as by signed addresses. Ranges reports whether the server sends ranges;
// without them the size may be unknown: -1.
func Probe(client web.Doer, r *http.Request) (size int64, tag string, ranges bool, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), SmallTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	r.Header.Set("Range", "bytes=0-0")
	resp, err := web.Send(client, r)
	if err != nil {
		return 0, "", false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return 0, "", false, fmt.Errorf("%w: %s is empty", remote.ErrRefused, web.Redacted(r.URL))
	}
	if err := Status(resp); err != nil {
		return 0, "", false, err
	}
	if resp.StatusCode != http.StatusPartialContent {
		return resp.ContentLength, TagOf(resp.Header), false, nil
	}
	size, err = wholeSize(resp.Header)
	return size, TagOf(resp.Header), true, err
}
