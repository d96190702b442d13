package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
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
)

// Authority signs certificates for tests.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
	next int64
}

// NewAuthority makes one.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{next: 1}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.key, a.pem = key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// Pool trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// issue returns a certificate for 127.0.0.1 and its key, in PEM.
func (a *Authority) issue(t *testing.T) (cert, key []byte) {
	t.Helper()
	a.next++
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.next), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	require.NoError(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
}

// Pair returns a certificate and its key.
func (a *Authority) Pair(t *testing.T) tls.Certificate {
	t.Helper()
	cert, key := a.issue(t)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	return pair
}

// Files writes what a server needs.
func (a *Authority) Files(t *testing.T, dir string) TLS {
	t.Helper()
	o := TLS{Allow: true, Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key"), Root: filepath.Join(dir, "root")}
	cert, key := a.issue(t)
	for name, text := range map[string][]byte{o.Cert: cert, o.Key: key, o.Root: a.pem} {
		require.NoError(t, os.WriteFile(name, text, 0o600))
	}
	return o
}

func serial(t *testing.T, c *tls.Config) int64 {
	t.Helper()
	leaf, err := x509.ParseCertificate(c.Certificates[0].Certificate[0])
	require.NoError(t, err)
	return leaf.SerialNumber.Int64()
}

// TestCertificatesChange replaces the files of a listener that serves. Files that cannot be read
// change nothing.
func TestCertificatesChange(t *testing.T) {
	t.Parallel()
	a, dir := NewAuthority(t), t.TempDir()
	files := &certificates{TLS: a.Files(t, dir)}
	current := func() int64 {
		files.mu.checked = time.Time{}
		return serial(t, files.current())
	}
	require.EqualValues(t, 2, current())
	stamp := func(name string, hours int) {
		at := time.Now().Add(time.Duration(hours) * time.Hour)
		require.NoError(t, os.Chtimes(name, at, at))
	}
	cert, key := a.issue(t)
	require.NoError(t, os.WriteFile(files.Cert, cert, 0o600))
	stamp(files.Cert, 1)
	require.EqualValues(t, 2, current(), "half of a new pair")
	require.NoError(t, os.WriteFile(files.Key, key, 0o600))
	stamp(files.Key, 1)
	require.EqualValues(t, 2, serial(t, files.current()), "checked a moment ago")
	require.EqualValues(t, 3, current())
}

// TestCertificatesOfTheSameStamp: files whose times and sizes are those of the ones before are read
// all the same, each of the three.
func TestCertificatesOfTheSameStamp(t *testing.T) {
	t.Parallel()
	first, second := NewAuthority(t), NewAuthority(t)
	stamp := time.Unix(1e9, 0)
	// replace writes a file of the size that a file before it had: PEM allows text around its blocks.
	replace := func(name string, text []byte) {
		const size = 4096
		require.Less(t, len(text), size)
		text = append(text, bytes.Repeat([]byte{'\n'}, size-len(text))...)
		require.NoError(t, os.WriteFile(name, text, 0o600))
		require.NoError(t, os.Chtimes(name, stamp, stamp))
	}
	files := &certificates{TLS: first.Files(t, t.TempDir())}
	files.Mutual = true
	cert, key := first.issue(t)
	replace(files.Cert, cert)
	replace(files.Key, key)
	replace(files.Root, first.pem)
	current := func() *tls.Config {
		files.mu.checked = time.Time{}
		return files.current()
	}
	require.EqualValues(t, 3, serial(t, current()))
	cert, key = first.issue(t)
	replace(files.Cert, cert)
	replace(files.Key, key)
	require.EqualValues(t, 4, serial(t, current()))
	require.True(t, current().ClientCAs.Equal(first.Pool()))
	replace(files.Root, second.pem)
	require.True(t, current().ClientCAs.Equal(second.Pool()))
}

func TestCertificatesMissing(t *testing.T) {
	t.Parallel()
	a := NewAuthority(t)
	good := a.Files(t, t.TempDir())
	config, err := TLS{}.config()
	require.NoError(t, err)
	require.Nil(t, config)
	for want, change := range map[string]func(*TLS){
		"server certificate: open /none: no such file or directory": func(o *TLS) { o.Cert = "/none" },
		"root certificate: open /none: no such file or directory":   func(o *TLS) { o.Root, o.Mutual = "/none", true },
		"root certificate: no certificate in " + good.Key:           func(o *TLS) { o.Root, o.Mutual = good.Key, true },
	} {
		o := good
		change(&o)
		_, err := o.config()
		require.EqualError(t, err, want)
	}
}
