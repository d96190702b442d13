// What the sources over HTTP share: a transport that notices silence, errors by status, and ranges.

package remote

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of a connection.
const (
	dialWait   = 10 * time.Second
	headerWait = 30 * time.Second
	silence    = 60 * time.Second
	idleConns  = 32
)

// pageWait bounds a request for a page of a listing; maxPage bounds its bytes.
const (
	pageWait = time.Minute
	maxPage  = 64 << 20
)

// newTransport returns a transport whose connections do not wait forever. It uses the proxies of
// the environment.
func newTransport() http.RoundTripper {
	return watched{&http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: dialWait}).DialContext, TLSHandshakeTimeout: dialWait,
		ResponseHeaderTimeout: headerWait, ExpectContinueTimeout: time.Second,
		MaxIdleConns: idleConns, MaxIdleConnsPerHost: idleConns, IdleConnTimeout: time.Minute,
		DisableCompression: true, // sizes and ranges are those of the stored bytes
		ForceAttemptHTTP2:  true,
	}}
}

// closeIdle closes the idle connections of a transport of newTransport.
func closeIdle(t http.RoundTripper) {
	if w, ok := t.(watched); ok {
		w.CloseIdleConnections()
	}
}

// watched closes bodies that give no bytes for a time.
type watched struct{ *http.Transport }

// RoundTrip sends a request.
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.Transport.RoundTrip(r)
	if err == nil {
		b := &watchedBody{ReadCloser: resp.Body}
		b.timer = time.AfterFunc(silence, func() { _ = b.ReadCloser.Close() })
		resp.Body = b
	}
	return resp, err
}

type watchedBody struct {
	io.ReadCloser
	timer *time.Timer
}

// Read reads and starts the time anew.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.timer.Reset(silence)
	if err != nil {
		b.timer.Stop()
	}
	return n, err
}

// Close closes the body.
func (b *watchedBody) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}

// doer sends requests: an http.Client, or one that knows the credentials of a registry.
type doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// send sends a request. Its errors do not show the parameters of the address, which may be a
// signature: the client's own errors do.
func send(c doer, r *http.Request) (*http.Response, error) {
	resp, err := c.Do(r)
	var u *url.Error
	if errors.As(err, &u) {
		err = fmt.Errorf("%s %s: %w", r.Method, redacted(r.URL), u.Err)
	}
	return resp, err
}

// redacted returns an address without passwords and parameters, which may be secrets.
func redacted(u *url.URL) string {
	clean := *u
	clean.RawQuery, clean.Fragment = "", ""
	return clean.Redacted()
}

// maxError bounds what is read of the body of an error.
const maxError = 4 << 10

// do sends a request and returns its response if the status is 200 or 206, else an error that has
// the status and what message finds in the body.
func do(c *http.Client, r *http.Request, message func(body []byte) string) (*http.Response, error) {
	resp, err := send(c, r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // without it the status says enough
	why := resp.Status
	if m := message(text); m != "" {
		why += ": " + m
	}
	return nil, statusError(resp.StatusCode, why)
}

// statusError returns the error of a response by its status.
func statusError(code int, why string) error {
	switch code {
	case http.StatusNotFound:
		return fmt.Errorf("%w: %s", ErrNotFound, why)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w: %s", ErrDenied, why)
	case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		return fmt.Errorf("%w: %s", ErrChanged, why)
	}
	return fmt.Errorf("the store answered %s", why)
}

// rangeHeader returns the value of a header that asks for a range.
func rangeHeader(offset, length int64) string {
	return fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)
}

// ranged returns the body of a response if it is the range that was asked for.
func ranged(resp *http.Response, offset, length int64) (io.ReadCloser, error) {
	if resp.StatusCode == http.StatusOK {
		if offset == 0 && (resp.ContentLength == length || resp.ContentLength < 0) {
			return resp.Body, nil
		}
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the store sent all of the object, %d bytes, instead of %d bytes from %d", resp.ContentLength, length, offset)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(resp.Header.Get("Content-Range"), "bytes "), "-")
	if n, err := strconv.ParseInt(first, 10, 64); err != nil || n != offset {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the store sent the range %q instead of %d bytes from %d", resp.Header.Get("Content-Range"), length, offset)
	}
	return resp.Body, nil
}
