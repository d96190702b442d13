package main_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
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
	next       atomic.Uint64
}

func startGoProxy(t *testing.T, replicas []*replica) (overHTTP, overGRPC string) {
	p := &goProxy{ready: make([]atomic.Bool, len(replicas))}
	for _, r := range replicas {
		p.http = append(p.http, "127.0.0.1:"+strconv.Itoa(r.ports[0]))
		p.grpc = append(p.grpc, "127.0.0.1:"+strconv.Itoa(r.ports[1]))
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
	overHTTP, overGRPC = p.serve(t, p.http, &one), p.serve(t, p.grpc, &two)
	waitProxy(t, overHTTP)
	return overHTTP, overGRPC
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
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", p.pick(to)
		},
	}
	s := &http.Server{Handler: proxy, Protocols: protocols}
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

// pick returns the address of the next replica that is ready.
func (p *goProxy) pick(to []string) string {
	for range to {
		if i := p.next.Add(1) % uint64(len(to)); p.ready[i].Load() {
			return to[i]
		}
	}
	return to[0]
}
