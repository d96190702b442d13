// Signatures of archives and images are checked with the public key of their publisher: those that
// `cosign sign-blob` and `cosign sign` write, and those of `openssl dgst -sha256 -sign`.

package remote

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// ErrSignature is wrapped by the errors about signatures that do not belong to the key and the content.
var ErrSignature = errors.New("the signature is not valid")

// PublicKey is a public key: ECDSA on the curve P-256, with SHA-256.
type PublicKey struct {
	public *ecdsa.PublicKey
	id     string
}

// ReadPublicKey reads the public key from a PEM file.
func ReadPublicKey(path string) (*PublicKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the public key: %w", err)
	}
	k, err := ParsePublicKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// ParsePublicKey parses a public key in PEM form.
func ParsePublicKey(text []byte) (*PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, errors.New("it is no public key in PEM form (BEGIN PUBLIC KEY)")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the public key is broken: %w", err)
	}
	public, ok := parsed.(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P256() {
		return nil, fmt.Errorf("the public key is a %T; keys for ECDSA on the curve P-256 are supported, as `cosign generate-key-pair` makes them", parsed)
	}
	sum := sha256.Sum256(block.Bytes)
	return &PublicKey{public, hex.EncodeToString(sum[:])}, nil
}

// ID identifies the key: the SHA-256 of its DER form. A nil key has an empty ID.
func (k *PublicKey) ID() string {
	if k == nil {
		return ""
	}
	return k.id
}

// Verify returns ErrSignature unless the signature, in DER or base64, is one of the content with the
// SHA-256 digest, in hex.
func (k *PublicKey) Verify(digest string, signature []byte) error {
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("%q is no SHA-256 digest", digest)
	}
	der := signature
	if text := bytes.TrimSpace(signature); len(text) > 0 && text[0] != 0x30 { // DER begins with 0x30; base64 of DER with M
		if der, err = base64.StdEncoding.DecodeString(string(text)); err != nil {
			return fmt.Errorf("%w: it is neither DER nor base64", ErrSignature)
		}
	}
	if !ecdsa.VerifyASN1(k.public, sum, der) {
		return ErrSignature
	}
	return nil
}
