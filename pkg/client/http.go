package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/protobuf/proto"

	"triton/pkg/client/internal/wire"
	"triton/pkg/status"
)

// maxAdminBody bounds the size of an administrative response.
const maxAdminBody = 64 << 20

// maxIdle and idleTime bound the number of idle connections and their age.
const (
	maxIdle  = 256
	idleTime = 90 * time.Second
)

type httpTransport struct {
	endpoint *wire.Endpoint
	headers  map[string]string
	client   *http.Client
}

func newHTTP(o Options) (*httpTransport, error) {
	at, err := wire.ParseHTTP(o.Address, o.TLS)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckHeaders(o.Headers); err != nil {
		return nil, err
	}
	return &httpTransport{endpoint: at, headers: o.Headers, client: &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: at.TLS, DisableCompression: true, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle,
			IdleConnTimeout: idleTime,
		},
		// A redirect would send tensors and credentials to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// httpCall is one exchange of HTTP.
type httpCall struct {
	method, path string
	header       map[string]string
	body         [][]byte
	// readOnly marks a call that changes nothing, whatever its method.
	readOnly bool
}

// do sends a call and returns a response with status 200. Any other response
// becomes an error with the server's text.
func (t *httpTransport) do(ctx context.Context, c httpCall) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, c.method, t.endpoint.URL(c.path), nil)
	if err != nil {
		return nil, err
	}
	if len(c.body) > 0 {
		// With GetBody, net/http sends a request again if it could not write a
		// byte of it; others only if they are marked as idempotent.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(c.reader()), nil }
		req.Body, _ = req.GetBody()
		for _, b := range c.body {
			req.ContentLength += int64(len(b))
		}
	}
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	if c.readOnly {
		req.Header["X-Idempotency-Key"] = nil // marks it as idempotent; not sent
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, httpFailure(ctx, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAdminBody))
	if err != nil {
		return nil, httpFailure(ctx, err)
	}
	return nil, wire.HTTPError(resp.StatusCode, text)
}

func (c *httpCall) reader() io.Reader {
	readers := make([]io.Reader, len(c.body))
	for i, b := range c.body {
		readers[i] = bytes.NewReader(b)
	}
	return io.MultiReader(readers...)
}

// httpFailure returns the error of a call without a response.
func httpFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var where *url.Error
	if errors.As(err, &where) {
		err = where.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return wire.ConnectError(err)
	}
	return fmt.Errorf("HTTP client failed: %w", wire.SpeaksRPC(err))
}

func (t *httpTransport) call(ctx context.Context, _ string, req, resp proto.Message) error {
	r, err := routeOf(req)
	if err != nil {
		return err
	}
	httpResp, err := t.do(ctx, r.httpCall)
	var se *status.Error
	if r.probe && errors.As(err, &se) {
		return nil // not live or not ready, which the zero message means
	}
	if err != nil {
		return err
	}
	defer func() { _ = httpResp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(httpResp.Body, maxAdminBody+1))
	switch {
	case err != nil:
		return httpFailure(ctx, err)
	case len(data) > maxAdminBody:
		return fmt.Errorf("response to %s: more than %d bytes", r.path, maxAdminBody)
	}
	if err := decodeResponse(data, r.wrap, resp); err != nil {
		return fmt.Errorf("response to %s: %w", r.path, err)
	}
	return nil
}

func (t *httpTransport) stream(context.Context) (*Stream, error) {
	return nil, errors.New("HTTP has no streams: use gRPC")
}

func (t *httpTransport) close() error {
	t.client.CloseIdleConnections()
	return nil
}
