package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"triton/pkg/client/internal/wire"
	"triton/pkg/status"
)

// ErrDenied is in the chain of the error of a call that the client may not make.
var ErrDenied = wire.ErrDenied

const statePath = "/v2/repository/state"

var errStateHTTP = errors.New("a server answers with its state over HTTP only")

// State returns what the server serves as a document of package fleetstate, in JSON. Only HTTP has
// this call, and only servers of this program.
func (c *Client) State(ctx context.Context) ([]byte, error) {
	return c.state(ctx, httpCall{method: http.MethodGet, path: statePath, readOnly: true})
}

// ApplyState brings the server to a document once, and returns the actions and their errors, in
// JSON. With dry, the server returns only what it would do.
func (c *Client) ApplyState(ctx context.Context, document []byte, dry bool) ([]byte, error) {
	call := httpCall{method: http.MethodPut, path: statePath, body: [][]byte{document}, readOnly: dry}
	if dry {
		call.path += "?dry_run"
	}
	return c.state(ctx, call)
}

func (c *Client) state(ctx context.Context, call httpCall) ([]byte, error) {
	t, ok := c.transport.(*httpTransport)
	if !ok {
		return nil, errStateHTTP
	}
	resp, err := t.do(ctx, call)
	switch {
	case err != nil && ctx.Err() == nil && status.CodeOf(err) == status.NotFound:
		return nil, fmt.Errorf("the server has no %s: it is not triton serve, or an older one", statePath)
	case err != nil:
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAdminBody+1))
	switch {
	case err != nil:
		return nil, httpFailure(ctx, err)
	case len(text) > maxAdminBody:
		return nil, fmt.Errorf("response to %s: more than %d bytes", statePath, maxAdminBody)
	}
	return text, nil
}
