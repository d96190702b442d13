package remotetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/store/remote"
)

// Secret is the password that tests put into paths and variables. No error may show it.
const Secret = "hunter2"

// CheckRefused checks that paths are refused, each for its reason.
func CheckRefused(t *testing.T, reasons map[string]string, open func(path string) (remote.Source, error)) {
	t.Helper()
	for path, reason := range reasons {
		_, err := open(path)
		require.ErrorContains(t, err, reason, path)
		require.NotContains(t, err.Error(), Secret, path)
	}
}

// CheckAccess checks that a source of a bucket can be listed and read, or that it is denied for a
// reason.
func CheckAccess(t *testing.T, b *Bucket, denied string, open func() (remote.Source, error)) {
	t.Helper()
	b.Put("m/a b", "x")
	s, err := open()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.(remote.Closer).Close()) }()
	all, err := s.List(t.Context())
	if denied != "" {
		require.ErrorIs(t, err, remote.ErrDenied)
		require.ErrorContains(t, err, denied)
		require.NotContains(t, err.Error(), Secret)
		return
	}
	require.NoError(t, err)
	require.Equal(t, "x", read(t, s, all[0], 0, 1))
}

// NewSigner returns a new public key, and what signs with the private one: the result is base64 of DER.
func NewSigner(t *testing.T) (key *remote.PublicKey, sign func(text []byte) []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	require.NoError(t, err)
	key, err = remote.ParsePublicKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	require.NoError(t, err)
	return key, func(text []byte) []byte {
		sum := sha256.Sum256(text)
		der, err := ecdsa.SignASN1(rand.Reader, private, sum[:])
		require.NoError(t, err)
		return []byte(base64.StdEncoding.EncodeToString(der))
	}
}
