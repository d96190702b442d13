package remote_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/store/remote"
)

func pemOf(t *testing.T, public any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func TestVerifySignature(t *testing.T) {
	t.Parallel()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	key, err := remote.ParsePublicKey(pemOf(t, &private.PublicKey))
	require.NoError(t, err)
	require.Len(t, key.ID(), 64)
	require.Empty(t, (*remote.PublicKey)(nil).ID())
	sum := sha256.Sum256([]byte("content"))
	der, err := ecdsa.SignASN1(rand.Reader, private, sum[:])
	require.NoError(t, err)
	text := []byte(base64.StdEncoding.EncodeToString(der) + "\n")
	digest := hex.EncodeToString(sum[:])
	require.NoError(t, key.Verify(digest, der))
	require.NoError(t, key.Verify(digest, text))
	other := sha256.Sum256([]byte("other"))
	require.ErrorIs(t, key.Verify(hex.EncodeToString(other[:]), text), remote.ErrSignature)
	require.ErrorIs(t, key.Verify(digest, nil), remote.ErrSignature)
	require.ErrorIs(t, key.Verify(digest, []byte("<html>")), remote.ErrSignature)
	require.ErrorIs(t, key.Verify(digest, text[:20]), remote.ErrSignature)
	require.Error(t, key.Verify("00", text))
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	foreign, err := ecdsa.SignASN1(rand.Reader, stranger, sum[:])
	require.NoError(t, err)
	require.ErrorIs(t, key.Verify(digest, foreign), remote.ErrSignature)
}

func TestParsePublicKey(t *testing.T) {
	t.Parallel()
	large, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	edwards, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	for reason, text := range map[string][]byte{
		"no public key in PEM form": []byte("ssh-ed25519 AAAA"),
		"is broken":                 pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}),
		"curve P-256 are supported": pemOf(t, &large.PublicKey),
		"ed25519.PublicKey; keys":   pemOf(t, edwards),
	} {
		_, err := remote.ParsePublicKey(text)
		require.ErrorContains(t, err, reason)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	_, err = remote.ReadPublicKey(path)
	require.ErrorContains(t, err, "reading the public key")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err = remote.ReadPublicKey(path)
	require.ErrorContains(t, err, path)
}

// TestOpenSSL: another program's keys and signatures are accepted.
func TestOpenSSL(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "content"), []byte("content"), 0o600))
	for _, args := range [][]string{
		{"ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "private.pem"},
		{"ec", "-in", "private.pem", "-pubout", "-out", "public.pem"},
		{"dgst", "-sha256", "-sign", "private.pem", "-out", "content.sig", "content"},
	} {
		c := exec.Command(program, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	key, err := remote.ReadPublicKey(filepath.Join(dir, "public.pem"))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "content.sig"))
	require.NoError(t, err)
	sum := sha256.Sum256([]byte("content"))
	require.NoError(t, key.Verify(hex.EncodeToString(sum[:]), text))
}
