// Package http1test serves handlers of http1 on loopback ports, over both transports. It
// is for tests only.
package http1test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"triton/server/http1"
)

// Transport is one of the two ways to serve a handler.
type Transport interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// Serving is a function that starts a server over one of the transports and returns its address.
type Serving = func(testing.TB, http1.Handler, http1.Options) string

// Both runs a test over both transports.
func Both(t *testing.T, test func(t *testing.T, serve Serving)) {
	for name, transport := range map[string]func(http1.Handler, http1.Options) Transport{
		"own": func(h http1.Handler, o http1.Options) Transport { return http1.NewServer(h, o) },
		"net/http": func(h http1.Handler, o http1.Options) Transport {
			return &http.Server{Handler: http1.NewHTTPHandler(h, o)} //nolint:gosec // a test's own clients
		},
	} {
		t.Run(name, func(t *testing.T) {
			test(t, func(t testing.TB, h http1.Handler, o http1.Options) string { return Start(t, transport(h, o)) })
		})
	}
}

// Start serves on a loopback port until the test ends and returns the address.
func Start(t testing.TB, s Transport) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		<-done
	})
	return l.Addr().String()
}
