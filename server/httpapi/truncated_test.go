package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/httpapi"
	"triton/server/infer"
)

// TestTruncatedValidBodies: a truncated body is refused even if its beginning is a valid request.
func TestTruncatedValidBodies(t *testing.T) { both(t, testCutBodies) }

func testCutBodies(t *testing.T, start serving) {
	svc := newService()
	svc.infer = func(context.Context, *infer.Request) (*infer.Response, error) {
		t.Error("a part of a request was run")
		return infer.NewResponse(), nil
	}
	addr := start(t, svc, httpapi.Options{})
	text := one(good)
	gz := packed("gzip", text)
	chunk := func(s string) string { return fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(s), s) }
	for name, rest := range map[string]string{
		"chunks":      chunk(text),
		"half chunk":  strings.TrimSuffix(chunk(text), "}\r\n"),
		"raw chunks":  "Inference-Header-Content-Length: 0\r\n" + chunk("abcd"),
		"gzip":        fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(gz)+1, gz),
		"gzip chunks": "Content-Encoding: gzip\r\n" + chunk(gz),
	} {
		reply := dial(t, addr, "POST "+inferPath+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+rest, true)
		require.True(t, strings.HasPrefix(reply, "HTTP/1.1 400 "), "%s: %q", name, reply)
	}
}
