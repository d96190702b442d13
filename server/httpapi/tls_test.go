package httpapi_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/httpapi"
	"triton/server/infer"
)

// certificate is a fresh one for 127.0.0.1, signed by itself.
func certificate(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"http/1.1"}},
		&tls.Config{RootCAs: roots, NextProtos: []string{"h2", "http/1.1"}}
}

// startTLS serves over TLS until the test ends.
func startTLS(t *testing.T, svc *stub) (addr string, client *tls.Config) {
	t.Helper()
	config, client := certificate(t)
	s := httpapi.NewServer(svc, httpapi.Options{Pool: svc.pool})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(tls.NewListener(l, config)) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTime)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		<-done
		require.Zero(t, svc.pool.Outstanding())
	})
	return l.Addr().String(), client
}

// TestTLS: both loops, a stream, and many requests over one connection.
func TestTLS(t *testing.T) {
	addr, config := startTLS(t, newService())
	c, err := tls.Dial("tcp", addr, config)
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "http/1.1", c.ConnectionState().NegotiatedProtocol)
	in := bufio.NewReader(c)
	for range 3 {
		require.Equal(t, 200, get(t, c, in, "/v2/health/live").StatusCode)
		body := `{"COUNT":20}`
		fmt.Fprintf(c, "POST /v2/models/g_repeat/generate_stream HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, 20, strings.Count(string(text), "data: {"))
	}
	// From here on net/http has the connection.
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", inferPath, len(one(good)), one(good))
	require.Equal(t, 200, reply(t, in).StatusCode)
	require.Equal(t, 200, get(t, c, in, "/v2/health/live").StatusCode)
}

// TestTLSClientGone: one has to read to see the end of an encrypted connection,
// also when the request has filled the buffer.
func TestTLSClientGone(t *testing.T) {
	for _, body := range []string{one(good), one(good) + strings.Repeat(" ", 100<<10)} {
		svc := newService()
		running, cancelled := make(chan struct{}), make(chan struct{})
		svc.infer = func(ctx context.Context, _ *infer.Request) (*infer.Response, error) {
			close(running)
			<-ctx.Done()
			close(cancelled)
			return nil, ctx.Err()
		}
		addr, config := startTLS(t, svc)
		c, err := tls.Dial("tcp", addr, config)
		require.NoError(t, err)
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", inferPath, len(body), body)
		require.NoError(t, err)
		<-running
		require.NoError(t, c.Close())
		<-cancelled
	}
}

// TestTLSPlain: who speaks no TLS is turned away, and hinders nobody.
func TestTLSPlain(t *testing.T) {
	addr, config := startTLS(t, newService())
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	silent, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer silent.Close()
	_, err = io.WriteString(c, "GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(waitTime)))
	text, _ := io.ReadAll(c)
	require.NotContains(t, string(text), "200 OK")
	secure, err := tls.Dial("tcp", addr, config)
	require.NoError(t, err)
	defer secure.Close()
	require.Equal(t, 200, get(t, secure, bufio.NewReader(secure), "/v2").StatusCode)
}
