package httpapi_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/httpapi"
	"triton/server/infer"
)

// TestFailedInference compares with Triton's replies for models that raise, that answer with an
// error, whose queue is full and whose requests time out. The error of a request that was
// accepted has another content type.
func TestFailedInference(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newService()
		addr := start(t, svc, httpapi.Options{})
		for _, c := range []struct {
			name     string
			accepted bool
			err      error
			code     int
			form     string
		}{
			{"refused", false, status.New(status.Unavailable, "Exceeds maximum queue size"), 503, "application/json"},
			{"waited too long", true, status.New(status.Unavailable, "Request timeout expired"), 503, "text/plain"},
			{"failed", true, status.New(status.Internal, "returned"), 500, "text/plain"},
			{"failed otherwise", true, status.New(status.InvalidArg, "returned"), 400, "text/plain"},
		} {
			svc.infer = func(_ context.Context, r *infer.Request) (*infer.Response, error) {
				if c.accepted {
					r.Move(infer.Decoded, infer.Answered)
				}
				return nil, c.err
			}
			resp, text := fetch(t, "POST", addr+inferPath, one(good))
			require.Equal(t, c.code, resp.StatusCode, c.name)
			require.Equal(t, c.form, resp.Header.Get("Content-Type"), c.name)
			require.JSONEq(t, `{"error":"`+c.err.Error()+`"}`, text)
		}
	})
}
