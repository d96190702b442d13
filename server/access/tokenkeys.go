package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

// Limits of a set of keys.
const (
	maxSet     = 1 << 20 // bytes
	maxKeys    = 100
	minRSABits = 2048
	maxRSABits = 8192
)

// tokenKey is a public key and the one algorithm that its signatures have.
type tokenKey struct {
	public    crypto.PublicKey
	algorithm string
}

// keySet holds public keys by their ID; a set of one key may have none.
type keySet map[string]tokenKey

// find returns the key of an ID. Without an ID it returns the key of a set that has only one.
func (s *keySet) find(id string) (tokenKey, bool) {
	if s == nil {
		return tokenKey{}, false
	}
	if k, ok := (*s)[id]; ok {
		return k, true
	}
	if id == "" && len(*s) == 1 {
		for _, k := range *s {
			return k, true
		}
	}
	return tokenKey{}, false
}

type jwk struct {
	Type  string `json:"kty"`
	Use   string `json:"use"`
	Alg   string `json:"alg"`
	ID    string `json:"kid"`
	Curve string `json:"crv"`
	N     string `json:"n"`
	E     string `json:"e"`
	X     string `json:"x"`
	Y     string `json:"y"`
}

// parseKeySet reads a JSON Web Key Set (RFC 7517). It skips keys for other purposes and of kinds
// that are not accepted, such as shared secrets, and refuses broken ones.
func parseKeySet(text []byte) (keySet, error) {
	if len(text) > maxSet {
		return nil, fmt.Errorf("the key set has more than %d bytes", maxSet)
	}
	var doc struct {
		Keys []jwk `json:"keys"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("the key set is not valid: %w", err)
	}
	if len(doc.Keys) > maxKeys {
		return nil, fmt.Errorf("the key set has %d keys, may have %d", len(doc.Keys), maxKeys)
	}
	keys := keySet{}
	for i := range doc.Keys {
		j := &doc.Keys[i]
		if j.Use != "" && j.Use != "sig" {
			continue
		}
		k, err := j.key()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			continue
		case err != nil:
			return nil, fmt.Errorf("key %d of the set, %q: %w", i+1, j.ID, err)
		}
		if _, twice := keys[j.ID]; twice {
			return nil, fmt.Errorf("two keys of the set have the ID %q", j.ID)
		}
		keys[j.ID] = k
	}
	if len(keys) == 0 {
		return nil, errors.New("the key set has no key for RS256, ES256 or EdDSA")
	}
	return keys, nil
}

func (j *jwk) key() (tokenKey, error) {
	var k tokenKey
	var err error
	switch {
	case j.Type == "RSA":
		k.algorithm = "RS256"
		k.public, err = j.rsa()
	case j.Type == "EC" && j.Curve == "P-256":
		k.algorithm = "ES256"
		k.public, err = j.ec()
	case j.Type == "OKP" && j.Curve == "Ed25519":
		k.algorithm = "EdDSA"
		var x []byte
		if x, err = jwkField(j.X); err == nil && len(x) != ed25519.PublicKeySize {
			err = fmt.Errorf("x has %d bytes, must have %d", len(x), ed25519.PublicKeySize)
		}
		k.public = ed25519.PublicKey(x)
	default:
		return k, errors.ErrUnsupported
	}
	if err == nil && j.Alg != "" && j.Alg != k.algorithm {
		return k, errors.ErrUnsupported // such as RS512 or encryption
	}
	return k, err
}

func (j *jwk) rsa() (*rsa.PublicKey, error) {
	n, err := jwkField(j.N)
	if err != nil {
		return nil, err
	}
	e, err := jwkField(j.E)
	if err != nil {
		return nil, err
	}
	k := &rsa.PublicKey{N: new(big.Int).SetBytes(n)}
	if bits := k.N.BitLen(); bits < minRSABits || bits > maxRSABits {
		return nil, fmt.Errorf("an RSA key of %d bits; %d to %d are accepted", bits, minRSABits, maxRSABits)
	}
	exponent := new(big.Int).SetBytes(e)
	if !exponent.IsInt64() || exponent.Int64() < 3 || exponent.Int64() > 1<<31-1 || exponent.Bit(0) == 0 {
		return nil, errors.New("an RSA key with a wrong exponent")
	}
	k.E = int(exponent.Int64())
	return k, nil
}

func (j *jwk) ec() (*ecdsa.PublicKey, error) {
	x, err := jwkField(j.X)
	if err != nil {
		return nil, err
	}
	y, err := jwkField(j.Y)
	if err != nil {
		return nil, err
	}
	const size = 32
	if len(x) != size || len(y) != size {
		return nil, errors.New("x and y of a P-256 key have 32 bytes each")
	}
	point := append(append([]byte{4}, x...), y...) // also checks that it is on the curve
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
}

func jwkField(text string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(b) == 0 {
		err = errors.New("a part of the key is missing")
	}
	return b, err
}
