package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"triton/pkg/trafficrules"
)

// errTrafficHTTP is returned by the calls for traffic rules over gRPC.
var errTrafficHTTP = errors.New("traffic rules are read and set over HTTP only")

// Traffic returns the traffic rules of a model and their state, with the sampled differences of a
// shadow if diffs is set. Only HTTP has the calls for traffic rules.
func (c *Client) Traffic(ctx context.Context, model string, diffs bool) (*trafficrules.Status, error) {
	path := ""
	if diffs {
		path = "/diffs"
	}
	return c.traffic(ctx, model, httpCall{method: http.MethodGet, path: path, readOnly: true})
}

// AllTraffic returns the traffic rules of all models.
func (c *Client) AllTraffic(ctx context.Context) ([]*trafficrules.Status, error) {
	var all []*trafficrules.Status
	return all, c.trafficCall(ctx, httpCall{method: http.MethodGet, path: "/v2/repository/traffic", readOnly: true}, &all)
}

// SetTraffic replaces the live traffic rules of a model. A generation other than 0 must still be
// that of the rules.
func (c *Client) SetTraffic(ctx context.Context, model string, document []byte, generation uint64) (*trafficrules.Status, error) {
	return c.traffic(ctx, model, httpCall{method: http.MethodPost, body: [][]byte{document}, header: ifMatch(generation)})
}

// DeleteTraffic deletes the live traffic rules of a model, so that those of its file apply.
func (c *Client) DeleteTraffic(ctx context.Context, model string, generation uint64) error {
	return c.trafficCall(ctx, httpCall{method: http.MethodDelete, path: trafficPath(model), header: ifMatch(generation)}, nil)
}

// PromoteTraffic gives the canary of a model the share of its last step.
func (c *Client) PromoteTraffic(ctx context.Context, model string) (*trafficrules.Status, error) {
	return c.traffic(ctx, model, httpCall{method: http.MethodPost, path: "/promote"})
}

// RollbackTraffic takes the share of a model's canary away.
func (c *Client) RollbackTraffic(ctx context.Context, model string) (*trafficrules.Status, error) {
	return c.traffic(ctx, model, httpCall{method: http.MethodPost, path: "/rollback"})
}

func ifMatch(generation uint64) map[string]string {
	if generation == 0 {
		return nil
	}
	return map[string]string{"If-Match": `"` + strconv.FormatUint(generation, 10) + `"`}
}

func trafficPath(model string) string {
	return "/v2/repository/models/" + url.PathEscape(model) + "/traffic"
}

func (c *Client) traffic(ctx context.Context, model string, call httpCall) (*trafficrules.Status, error) {
	call.path = trafficPath(model) + call.path
	st := &trafficrules.Status{}
	if err := c.trafficCall(ctx, call, st); err != nil {
		return nil, err
	}
	return st, nil
}

// trafficCall sends a call and reads the JSON of the response into to, unless it is nil.
func (c *Client) trafficCall(ctx context.Context, call httpCall, to any) error {
	t, ok := c.transport.(*httpTransport)
	if !ok {
		return errTrafficHTTP
	}
	resp, err := t.do(ctx, call)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAdminBody))
	if err != nil {
		return httpFailure(ctx, err)
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("response to %s: %w", call.path, err)
	}
	return nil
}
