package grpcapi_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/server/grpcapi"
)

// certificate returns one signed by ca, or by itself.
func certificate(t *testing.T, ca *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		IsCA: ca == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, by := template, any(key)
	if ca != nil {
		parent, by = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// TestMutualTLS: clients without a certificate of the right authority are not
// served.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ca, other := certificate(t, nil), certificate(t, nil)
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	s := newStub()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	opts := grpcapi.Default(s.pool)
	opts.Credentials = credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{*certificate(t, ca)}, ClientCAs: roots,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	})
	srv := newServer(t, s, opts)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(lis)
	}()
	defer func() {
		srv.Stop()
		<-done
	}()
	for name, c := range map[string]struct {
		own []tls.Certificate
		ok  bool
	}{
		"right": {[]tls.Certificate{*certificate(t, ca)}, true},
		"other": {[]tls.Certificate{*certificate(t, other)}, false},
		"none":  {nil, false},
	} {
		conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(
			&tls.Config{RootCAs: roots, Certificates: c.own, MinVersion: tls.VersionTLS12})))
		require.NoError(t, err)
		client := inferencepb.NewGRPCInferenceServiceClient(conn)
		_, err = client.ModelInfer(t.Context(), echoRequest(pattern(100<<10)))
		if c.ok {
			require.NoError(t, err, name)
			stream := openStream(t, t.Context(), conn)
			require.NoError(t, stream.Send(echoRequest(nil)))
			require.NoError(t, stream.CloseSend())
			require.Contains(t, transcript(stream), "OK\n")
		} else {
			require.Equal(t, codes.Unavailable, grpcstatus.Code(err), name)
		}
		require.NoError(t, conn.Close())
	}
}

// TestConnectionAge: a connection that is too old is closed gracefully, and the client connects
// again.
func TestConnectionAge(t *testing.T) {
	t.Parallel()
	s := newStub()
	conn := serve(t, s, s, func(o *grpcapi.Options) {
		o.MaxConnectionAge, o.MaxConnectionGrace = 20*time.Millisecond, time.Second
	})
	client := inferencepb.NewGRPCInferenceServiceClient(conn)
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		_, err := client.ModelInfer(t.Context(), echoRequest(pattern(1000)), grpc.WaitForReady(true))
		require.NoError(t, err)
	}
}
