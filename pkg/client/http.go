package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
)

// maxAdminBody bounds what an administrative answer may hold.
const maxAdminBody = 64 << 20

type httpClient struct {
	base        *url.URL
	address     string // host:port to dial
	headers     map[string]string
	headerNames []string
	admin       *http.Client
	lanes       lanes
}

var _ Client = (*httpClient)(nil)

func newHTTP(o Options) (*httpClient, error) {
	addr := o.Address
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	if err != nil {
		return nil, fmt.Errorf("server address %q: %w", o.Address, err)
	}
	switch {
	case u.Scheme == "https":
		return nil, fmt.Errorf("server address %q: https is not supported yet, use http", o.Address)
	case u.Scheme != "http" || u.Host == "":
		return nil, fmt.Errorf("server address %q: give host:port or an http URL", o.Address)
	}
	for name, value := range o.Headers {
		if name == "" || strings.ContainsAny(name+value, "\r\n") || strings.ContainsAny(name, ": ") {
			return nil, fmt.Errorf("header %q: not a valid HTTP header", name)
		}
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	c := &httpClient{base: u, address: u.Host, headers: o.Headers}
	c.headerNames = slices.Sorted(maps.Keys(o.Headers))
	if u.Port() == "" {
		c.address = net.JoinHostPort(u.Hostname(), "80")
	}
	c.admin = &http.Client{Transport: &http.Transport{MaxIdleConns: 4, DisableCompression: true}}
	return c, nil
}

func (c *httpClient) Protocol() Protocol { return HTTP }

// call asks for a resource; the error of an answer other than 200 is the
// server's.
func (c *httpClient) call(ctx context.Context, method, path string, body io.Reader) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.base.Host+path, body)
	if err != nil {
		return nil, err
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	resp, err := c.admin.Do(req)
	if err != nil {
		return nil, connectError(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAdminBody))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return data, serverError(resp.StatusCode, data)
	}
	return data, nil
}

// connectError puts the words first that Triton's HTTP client library uses,
// because scripts look for them.
func connectError(err error) error {
	if ctxErr := errors.Unwrap(err); errors.Is(err, context.Canceled) && ctxErr != nil {
		return ctxErr
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return fmt.Errorf("HTTP client failed: Couldn't connect to server (%w)", err)
}

// serverError is the error of an answer that is not 200.
func serverError(code int, body []byte) error {
	var e struct{ Error string }
	msg := ""
	if json.Unmarshal(body, &e) == nil {
		msg = e.Error
	}
	if msg == "" {
		msg = fmt.Sprintf("HTTP status %d: %.200q", code, body)
	}
	return &status.Error{Code: codeOfHTTP(code), Msg: msg}
}

func codeOfHTTP(code int) status.Code {
	switch code {
	case http.StatusNotFound:
		return status.NotFound
	case http.StatusBadRequest:
		return status.InvalidArg
	case http.StatusServiceUnavailable:
		return status.Unavailable
	case http.StatusNotImplemented:
		return status.Unsupported
	case http.StatusInternalServerError:
		return status.Internal
	}
	return status.Unknown
}

func (c *httpClient) probe(ctx context.Context, path string) (bool, error) {
	_, err := c.call(ctx, http.MethodGet, path, nil)
	var se *status.Error
	if errors.As(err, &se) {
		return false, nil
	}
	return err == nil, err
}

func (c *httpClient) Live(ctx context.Context) (bool, error) {
	return c.probe(ctx, c.base.Path+"/v2/health/live")
}

func (c *httpClient) Ready(ctx context.Context) (bool, error) {
	return c.probe(ctx, c.base.Path+"/v2/health/ready")
}

func (c *httpClient) ModelReady(ctx context.Context, model, version string) (bool, error) {
	return c.probe(ctx, c.modelPath(model, version)+"/ready")
}

func (c *httpClient) message(ctx context.Context, path string, m proto.Message) error {
	data, err := c.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return decodeJSON(path, data, m)
}

func decodeJSON(path string, data []byte, m proto.Message) error {
	o := protojson.UnmarshalOptions{DiscardUnknown: true}
	if err := o.Unmarshal(data, m); err != nil {
		return fmt.Errorf("answer to %s: %w", path, err)
	}
	return nil
}

func (c *httpClient) ServerMetadata(ctx context.Context) (*ServerMetadata, error) {
	m := &ServerMetadata{}
	return m, c.message(ctx, c.base.Path+"/v2", m)
}

func (c *httpClient) ModelMetadata(ctx context.Context, model, version string) (*ModelMetadata, error) {
	m := &ModelMetadata{}
	return m, c.message(ctx, c.modelPath(model, version), m)
}

func (c *httpClient) ModelConfig(ctx context.Context, model, version string) (*ModelConfig, error) {
	m := &ModelConfig{}
	return m, c.message(ctx, c.modelPath(model, version)+"/config", m)
}

func (c *httpClient) Statistics(ctx context.Context, model, version string) ([]*ModelStatistics, error) {
	path := c.base.Path + "/v2/models/stats"
	if model != "" {
		path = c.modelPath(model, version) + "/stats"
	}
	m := &inferencepb.ModelStatisticsResponse{}
	if err := c.message(ctx, path, m); err != nil {
		return nil, err
	}
	return m.GetModelStats(), nil
}

func (c *httpClient) Index(ctx context.Context, readyOnly bool) ([]*IndexEntry, error) {
	body := "{}"
	if readyOnly {
		body = `{"ready":true}`
	}
	path := c.base.Path + "/v2/repository/index"
	data, err := c.call(ctx, http.MethodPost, path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	m := &inferencepb.RepositoryIndexResponse{}
	wrapped := slices.Concat([]byte(`{"models":`), data, []byte("}"))
	if err := decodeJSON(path, wrapped, m); err != nil {
		return nil, err
	}
	return m.GetModels(), nil
}

func (c *httpClient) Infer(ctx context.Context, req *kserve.Request, resp *kserve.Response) error {
	return c.lanes.infer(ctx, c, req, resp)
}

func (c *httpClient) Close() error {
	c.admin.CloseIdleConnections()
	return c.lanes.close()
}
