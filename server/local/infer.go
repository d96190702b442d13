package local

import (
	"context"

	"triton/pkg/client"
	"triton/pkg/status"
	"triton/server/infer"
)

// Infer runs a request and returns its one response. When ctx ends first, a request that waits
// is withdrawn, one that runs is marked as cancelled, and the error is that of ctx. Errors of
// the server are *status.Error.
func (s *Server) Infer(ctx context.Context, req *client.Request) (*client.Response, error) {
	r, m, err := s.begin(ctx, req)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	defer r.Release()
	if m.Config().Decoupled() {
		r.Release() // the reference that the model would have taken
		return nil, status.New(status.Unsupported, "model '%s' may send any number of responses: use Responses", m.Name())
	}
	r.Unary()
	resp, err := m.Infer(ctx, r)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	defer resp.Release()
	return response(m, r, resp)
}

// begin converts a request and finds its model. The caller releases both, and gives the other
// reference of the request to the model.
func (s *Server) begin(ctx context.Context, req *client.Request) (_ *infer.Request, _ infer.Model, err error) {
	r, err := s.request(req)
	defer func() {
		if err != nil {
			r.Release()
			r.Release()
		}
	}()
	if err != nil {
		return nil, nil, err
	}
	wait, cancel := ctx, context.CancelFunc(func() {})
	if limit := r.Timeout(); limit > 0 {
		wait, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	m, err := infer.Acquire(wait, s.service, r.ModelName, r.ModelVersion)
	if err != nil {
		return nil, nil, err
	}
	return r, infer.Choose(m, r), nil
}
