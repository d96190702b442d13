package main_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// goProxy is a proxy of HTTP/1 and of HTTP/2 without encryption, which checks the health of its
// replicas every 100 ms and forwards to those that are ready, in turn.
type goProxy struct {
	http, grpc []string // addresses of the replicas
	ready      []atomic.Bool
	busy       []atomic.Int64 // requests at each replica, or about to be sent
	next       atomic.Uint64
}

func startGoProxy(t *testing.T, replicas []*replica) (reached rollingProxy) {
	p := &goProxy{ready: make([]atomic.Bool, len(replicas)), busy: make([]atomic.Int64, len(replicas))}
	for _, r := range replicas {
		p.http = append(p.http, r.http)
		p.grpc = append(p.grpc, r.grpc)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var checks sync.WaitGroup
	for i := range replicas {
		checks.Go(func() { p.check(ctx, i) })
	}
	t.Cleanup(func() {
		cancel()
		checks.Wait()
	})
	var one, two http.Protocols
	one.SetHTTP1(true)
	two.SetUnencryptedHTTP2(true)
	reached = rollingProxy{
		http: p.serve(t, p.http, &one), grpc: p.serve(t, p.grpc, &two),
		left: func(i int) bool { return !p.ready[i].Load() && p.busy[i].Load() == 0 }, // in this order: see pick
	}
	waitProxy(t, reached.http)
	return reached
}

// check asks a replica whether it is ready until ctx ends.
func (p *goProxy) check(ctx context.Context, i int) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.http[i]+"/v2/health/ready", nil)
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		p.ready[i].Store(err == nil && resp.StatusCode == http.StatusOK)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// serve forwards requests of one protocol to the replicas at the addresses.
func (p *goProxy) serve(t *testing.T, to []string, protocols *http.Protocols) string {
	t.Helper()
	transport := &http.Transport{Protocols: protocols, MaxIdleConnsPerHost: 2 * rollingClients}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, ok := p.pick()
		if !ok {
			http.Error(w, "no replica is ready", http.StatusServiceUnavailable)
			return
		}
		defer p.busy[i].Add(-1)
		proxy := &httputil.ReverseProxy{
			Transport: transport, FlushInterval: -1,
			Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", to[i] },
		}
		proxy.ServeHTTP(w, r)
	})
	s := &http.Server{Handler: handler, Protocols: protocols}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		transport.CloseIdleConnections()
		<-done
	})
	return l.Addr().String()
}

// pick returns the next replica that is ready. It is busy before it is known to be ready, so that one which
// is not ready and then not busy gets nothing any more.
func (p *goProxy) pick() (int, bool) {
	for range p.ready {
		i := int(p.next.Add(1) % uint64(len(p.ready)))
		p.busy[i].Add(1)
		if p.ready[i].Load() {
			return i, true
		}
		p.busy[i].Add(-1)
	}
	return 0, false
}
