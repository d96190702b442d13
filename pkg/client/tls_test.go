package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/client"
	"triton/server"
	"triton/server/servertest"
)

// certificates writes root.pem and, signed by it, server.pem and client.pem with
// their keys.
func certificates(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, kind string, der []byte) {
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return key
	}
	rootKey := newKey()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	require.NoError(t, err)
	write("root.pem", "CERTIFICATE", der)
	for i, name := range []string{"server", "client"} {
		key := newKey()
		cert := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 2)), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		der, err := x509.CreateCertificate(rand.Reader, cert, root, &key.PublicKey, rootKey)
		require.NoError(t, err)
		write(name+".pem", "CERTIFICATE", der)
		der, err = x509.MarshalPKCS8PrivateKey(key)
		require.NoError(t, err)
		write(name+".key", "PRIVATE KEY", der)
	}
	return dir
}

func TestTLS(t *testing.T) {
	dir := certificates(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, mutual := range []bool{false, true} {
		files := server.TLS{Allow: true, Mutual: mutual, Cert: at("server.pem"), Key: at("server.key"), Root: at("root.pem")}
		s := servertest.Start(t, servertest.Model("identity", servertest.Identity("INT32", "-1", 8)),
			servertest.With(func(o *server.Options) { o.HTTP.TLS, o.GRPC.TLS = files, files }))
		anonymous, err := client.TLSFiles{Root: at("root.pem")}.Config()
		require.NoError(t, err)
		known, err := client.TLSFiles{Root: at("root.pem"), Cert: at("client.pem"), Key: at("client.key")}.Config()
		require.NoError(t, err)
		for p, addresses := range map[client.Protocol][]string{
			client.HTTP: {s.HTTP, "https://" + s.HTTP},
			client.GRPC: {s.GRPC, "grpcs://" + s.GRPC},
		} {
			infer := func(o client.Options) error {
				o.Protocol = p
				_, err := newClient(t, o).Infer(t.Context(), &client.Request{
					Model: "identity", Inputs: []client.Tensor{client.NewTensor("INPUT0", []int64{1, 1}, int32(1))},
				})
				return err
			}
			for _, address := range addresses {
				require.NoError(t, infer(client.Options{Address: address, TLS: known}))
				err := infer(client.Options{Address: address, TLS: anonymous})
				require.Equal(t, mutual, err != nil, "%v: %v", p, err)
			}
			require.Error(t, infer(client.Options{Address: addresses[0]}), "the server wants TLS")
			require.ErrorContains(t, infer(client.Options{Address: addresses[1]}), "certificate", "the client does not trust it")
		}
	}
}

func TestTLSFiles(t *testing.T) {
	t.Parallel()
	dir := certificates(t)
	for want, f := range map[string]client.TLSFiles{
		"root certificates: open":   {Root: filepath.Join(dir, "none")},
		"has no PEM certificate":    {Root: filepath.Join(dir, "client.key")},
		"both the certificate":      {Cert: filepath.Join(dir, "client.pem")},
		"client certificate: tls: ": {Cert: filepath.Join(dir, "client.pem"), Key: filepath.Join(dir, "server.key")},
	} {
		_, err := f.Config()
		require.ErrorContains(t, err, want)
	}
}
