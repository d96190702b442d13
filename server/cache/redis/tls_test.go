package redis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
	"triton/server/cache"
)

// certificate writes a self-signed certificate for localhost, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &pair.PublicKey, pair)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(pair)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// TestTLS: a Redis that accepts only TLS and requires the client's certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	secure := sharedtest.Port(t)
	start(t, "0", "--tls-port", secure, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "yes")
	with := func(more map[string]string) map[string]string {
		all := map[string]string{"host": "127.0.0.1", "port": secure, "socket_timeout": "5000", "connect_timeout": "5000", "sni": "localhost"}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	k := cache.Key{1}
	resp := response("secret")
	defer resp.Release()
	for name, settings := range map[string]map[string]string{
		"file":   with(map[string]string{"cert": cert, "key": key, "cacert": cert}),
		"folder": with(map[string]string{"cert": cert, "key": key, "cacert_dir": filepath.Dir(cert)}),
	} {
		c, log := open(t, settings)
		require.NoError(t, c.Insert(k, resp))
		eventually(t, func() bool { _, hit := lookup(c, k); return hit })
		require.Zero(t, log.lines("ERROR"), name)
	}
	for name, settings := range map[string]map[string]string{
		"no certificate of ours": with(map[string]string{"cacert": cert}),
		"an unknown authority":   with(map[string]string{"cert": cert, "key": key}),
		"another name":           with(map[string]string{"cert": cert, "key": key, "cacert": cert, "sni": "elsewhere"}),
	} {
		c, log := open(t, settings)
		_, hit := lookup(c, k)
		require.False(t, hit, name)
		require.Equal(t, 1, log.lines("ERROR"), name)
	}
}
