package http1_test

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

	"triton/server/http1"
)

// certificate makes a self-signed certificate for 127.0.0.1.
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
	s := http1.NewServer(svc, http1.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(tls.NewListener(l, config)) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTime)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		<-done
	})
	return l.Addr().String(), client
}

// TestTLS: plain, chunked and unusual requests over one encrypted connection.
func TestTLS(t *testing.T) {
	svc := newStub()
	svc.handle = func(x *http1.Exchange) {
		for range 20 {
			_ = x.Chunk([]byte("data: {}\n\n"))
			_ = x.Flush(false)
		}
		_ = x.Flush(true)
	}
	addr, config := startTLS(t, svc)
	c, err := tls.Dial("tcp", addr, config)
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "http/1.1", c.ConnectionState().NegotiatedProtocol)
	in := bufio.NewReader(c)
	for range 3 {
		require.Equal(t, 200, get(t, c, in, "/live").StatusCode)
		body := `{"COUNT":20}`
		fmt.Fprintf(c, "POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, 20, strings.Count(string(text), "data: {"))
	}
	// From here on net/http has the connection.
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", readPath, len(payload), payload)
	require.Equal(t, 200, reply(t, in).StatusCode)
	require.Equal(t, 200, get(t, c, in, "/live").StatusCode)
}

// TestTLSDisconnect: a client's disconnect cancels its request, also when the request filled the
// buffer.
func TestTLSDisconnect(t *testing.T) {
	for _, body := range []string{payload, payload + strings.Repeat(" ", 100<<10)} {
		svc := newStub()
		running, cancelled := make(chan struct{}), make(chan struct{})
		svc.handle = func(x *http1.Exchange) {
			close(running)
			<-x.Context.Done()
			close(cancelled)
		}
		addr, config := startTLS(t, svc)
		c, err := tls.Dial("tcp", addr, config)
		require.NoError(t, err)
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", readPath, len(body), body)
		require.NoError(t, err)
		<-running
		require.NoError(t, c.Close())
		<-cancelled
	}
}

// TestTLSPlain: clients without TLS are refused and do not block others.
func TestTLSPlain(t *testing.T) {
	addr, config := startTLS(t, newStub())
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	silent, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer silent.Close()
	_, err = io.WriteString(c, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(waitTime)))
	text, _ := io.ReadAll(c)
	require.NotContains(t, string(text), "200 OK")
	secure, err := tls.Dial("tcp", addr, config)
	require.NoError(t, err)
	defer secure.Close()
	require.Equal(t, 200, get(t, secure, bufio.NewReader(secure), "/live").StatusCode)
}
