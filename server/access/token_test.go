package access

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// signer is a key of an issuer.
type signer struct {
	id      string
	private crypto.Signer
	method  jwt.SigningMethod
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// jwk returns the public key.
func (s *signer) jwk() map[string]string {
	switch k := s.private.Public().(type) {
	case *rsa.PublicKey:
		return map[string]string{"kty": "RSA", "kid": s.id, "n": encode(k.N.Bytes()), "e": encode(big.NewInt(int64(k.E)).Bytes())}
	case *ecdsa.PublicKey:
		point, _ := k.Bytes()
		return map[string]string{"kty": "EC", "crv": "P-256", "kid": s.id, "x": encode(point[1:33]), "y": encode(point[33:])}
	case ed25519.PublicKey:
		return map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": s.id, "x": encode(k)}
	}
	return nil
}

func jwks(signers ...*signer) []byte {
	var doc struct {
		Keys []map[string]string `json:"keys"`
	}
	for _, s := range signers {
		doc.Keys = append(doc.Keys, s.jwk())
	}
	text, _ := json.Marshal(doc)
	return text
}

var (
	rsaKey = sync.OnceValue(func() *signer {
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		return &signer{"rsa", k, jwt.SigningMethodRS256}
	})
	ecKey = sync.OnceValue(func() *signer {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err)
		}
		return &signer{"ec", k, jwt.SigningMethodES256}
	})
	edKey = sync.OnceValue(func() *signer {
		_, k, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			panic(err)
		}
		return &signer{"ed", k, jwt.SigningMethodEdDSA}
	})
)

var now = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func claims(change ...any) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss": "https://issuer", "aud": []string{"other", "triton"}, "sub": "alice",
		"exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "groups": []any{"a", "b", 7, ""},
	}
	for i := 0; i < len(change); i += 2 {
		name := change[i].(string)
		if c[name] = change[i+1]; change[i+1] == nil {
			delete(c, name)
		}
	}
	return c
}

func (s *signer) sign(t testing.TB, c jwt.MapClaims, header ...any) string {
	t.Helper()
	tok := jwt.NewWithClaims(s.method, c)
	tok.Header["kid"] = s.id
	for i := 0; i < len(header); i += 2 {
		tok.Header[header[i].(string)] = header[i+1]
	}
	text, err := tok.SignedString(s.private)
	require.NoError(t, err)
	return text
}

func verifierOf(t testing.TB, set []byte, clock func() time.Time) *tokenVerifier {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jwks")
	require.NoError(t, os.WriteFile(file, set, 0o600))
	v, err := newTokenVerifier(TokenOptions{Keys: file, Issuer: "https://issuer", Audience: "triton", Leeway: time.Minute, Groups: "groups", Now: clock})
	require.NoError(t, err)
	_, err = v.Refresh(t.Context())
	require.NoError(t, err)
	return v
}

func clockAt(t time.Time) func() time.Time { return func() time.Time { return t } }

func TestGoodTokens(t *testing.T) {
	t.Parallel()
	v := verifierOf(t, jwks(rsaKey(), ecKey(), edKey()), clockAt(now))
	for _, s := range []*signer{rsaKey(), ecKey(), edKey()} {
		text := s.sign(t, claims())
		for range 2 { // checked, then remembered
			who, expires, err := v.Verify(t.Context(), text)
			require.NoError(t, err, s.id)
			require.Equal(t, "jwt:alice", who.Name)
			require.Equal(t, []string{"jwt-group:a", "jwt-group:b"}, who.Also)
			require.Equal(t, now.Add(time.Hour+time.Minute).Unix(), expires.Unix())
		}
		_, _, ok := v.Known(text)
		require.True(t, ok)
	}
	alone := verifierOf(t, jwks(ecKey()), clockAt(now)) // a set of one key needs no ID
	_, _, err := alone.Verify(t.Context(), ecKey().sign(t, claims(), "kid", ""))
	require.NoError(t, err)
}

// TestBadTokens is a table of tokens that must not pass, and of what the client learns.
func TestBadTokens(t *testing.T) {
	t.Parallel()
	v := verifierOf(t, jwks(rsaKey(), ecKey(), edKey()), clockAt(now))
	public, err := x509.MarshalPKIXPublicKey(rsaKey().private.Public())
	require.NoError(t, err)
	shared := func(secret []byte) string {
		tok := jwt.NewWithClaims(jwt.SigningMethodHS256, claims())
		tok.Header["kid"] = "rsa"
		text, err := tok.SignedString(secret)
		require.NoError(t, err)
		return text
	}
	none := jwt.NewWithClaims(jwt.SigningMethodNone, claims())
	none.Header["kid"] = "rsa"
	unsigned, err := none.SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	good := rsaKey().sign(t, claims())
	parts := strings.Split(good, ".")
	other := &signer{"ed", ed25519.NewKeyFromSeed(make([]byte, 32)), jwt.SigningMethodEdDSA}
	for name, c := range map[string]struct{ token, want string }{
		"alg none":             {unsigned, "the token is not valid"},
		"alg none in capitals": {encode([]byte(`{"alg":"NONE","kid":"rsa"}`)) + "." + parts[1] + ".", "the token is not valid"},
		"public key as secret": {shared(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})), "the token is not valid"},
		"modulus as secret":    {shared(rsaKey().private.Public().(*rsa.PublicKey).N.Bytes()), "the token is not valid"},
		"other hash":           {(&signer{"rsa", rsaKey().private, jwt.SigningMethodRS512}).sign(t, claims()), "the token is not valid"},
		"PSS":                  {(&signer{"rsa", rsaKey().private, jwt.SigningMethodPS256}).sign(t, claims()), "the token is not valid"},
		"kid of another kind":  {rsaKey().sign(t, claims(), "kid", "ec"), "the token's key is unknown"},
		"kid unknown":          {rsaKey().sign(t, claims(), "kid", "x"), "the token's key is unknown"},
		"kid a path":           {rsaKey().sign(t, claims(), "kid", "../../dev/null"), "the token's key is unknown"},
		"kid missing":          {rsaKey().sign(t, claims(), "kid", ""), "the token's key is unknown"},
		"kid a number":         {rsaKey().sign(t, claims(), "kid", 7), "the token's key is unknown"},
		"key in the header":    {other.sign(t, claims(), "kid", "", "jwk", other.jwk()), "the token's key is unknown"},
		"key behind a URL":     {other.sign(t, claims(), "kid", "", "jku", "http://127.0.0.1:1/"), "the token's key is unknown"},
		"other key":            {other.sign(t, claims()), "the token is not valid"},
		"critical":             {rsaKey().sign(t, claims(), "crit", []string{"x"}), "the token has critical headers"},
		"signature cut":        {parts[0] + "." + parts[1] + ".", "the token is not valid"},
		"claims changed":       {parts[0] + "." + encode([]byte(`{"sub":"root"}`)) + "." + parts[2], "the token is not valid"},
		"expired":              {rsaKey().sign(t, claims("exp", now.Add(-time.Minute).Unix())), "the token has expired"},
		"never expires":        {rsaKey().sign(t, claims("exp", nil)), "the token lacks a required claim"},
		"expires as text":      {rsaKey().sign(t, claims("exp", "9999999999")), "the token is not valid"},
		"not yet":              {rsaKey().sign(t, claims("nbf", now.Add(2*time.Minute).Unix())), "the token is not valid yet"},
		"issued in the future": {rsaKey().sign(t, claims("iat", now.Add(2*time.Minute).Unix())), "the token was issued in the future"},
		"other audience":       {rsaKey().sign(t, claims("aud", "other")), "the token is for another audience"},
		"part of the audience": {rsaKey().sign(t, claims("aud", "trit")), "the token is for another audience"},
		"no audience":          {rsaKey().sign(t, claims("aud", nil)), "the token"},
		"other issuer":         {rsaKey().sign(t, claims("iss", "https://issuer/")), "the token is of another issuer"},
		"no issuer":            {rsaKey().sign(t, claims("iss", nil)), "the token"},
		"no subject":           {rsaKey().sign(t, claims("sub", nil)), "the token has no valid subject"},
		"subject a number":     {rsaKey().sign(t, claims("sub", 7)), "the token has no valid subject"},
		"long subject":         {rsaKey().sign(t, claims("sub", strings.Repeat("x", maxName+1))), "the token has no valid subject"},
		"long":                 {good + strings.Repeat("x", maxTokenLength), "the token is too long"},
		"empty":                {"", "the token is not valid"},
		"two dots":             {"..", "the token is not valid"},
		"encrypted":            {"a.b.c.d.e", "the token is not valid"},
		"padded":               {parts[0] + "=." + parts[1] + "." + parts[2], "the token is not valid"},
	} {
		_, _, err := v.Verify(t.Context(), c.token)
		require.ErrorContains(t, err, c.want, name)
		if len(c.token) > 20 {
			require.NotContains(t, err.Error(), c.token[:20], name)
		}
		_, _, known := v.Known(c.token)
		require.False(t, known, name)
	}
}

// TestClocksOfTokens allows the clocks to differ by the leeway, no more, also for tokens that are
// remembered.
func TestClocksOfTokens(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	clock.Store(now.Unix())
	v := verifierOf(t, jwks(edKey()), func() time.Time { return time.Unix(clock.Load(), 0) })
	soon := edKey().sign(t, claims("nbf", now.Add(59*time.Second).Unix()))
	_, _, err := v.Verify(t.Context(), soon)
	require.NoError(t, err)
	clock.Store(now.Add(time.Hour + 59*time.Second).Unix())
	_, _, ok := v.Known(soon)
	require.True(t, ok)
	clock.Store(now.Add(time.Hour + 60*time.Second).Unix())
	_, _, ok = v.Known(soon)
	require.False(t, ok)
	_, _, err = v.Verify(t.Context(), soon)
	require.EqualError(t, err, "the token has expired")
}

// TestRotationOfKeys serves keys over HTTP: a new key is fetched when a token needs it, once for all
// that wait, and not for each invented ID; the tokens of a removed key end.
func TestRotationOfKeys(t *testing.T) {
	t.Parallel()
	var fetched, clock atomic.Int64
	var set atomic.Pointer[[]byte]
	publish := func(b []byte) { set.Store(&b) }
	publish(jwks(edKey()))
	clock.Store(now.Unix())
	gate := make(chan struct{}, 100)
	gate <- struct{}{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		<-gate
		_, _ = w.Write(*set.Load())
	}))
	defer web.Close()
	v, err := newTokenVerifier(TokenOptions{Keys: web.URL, Issuer: "https://issuer", Audience: "triton", Leeway: time.Minute, Groups: "groups", Now: func() time.Time { return time.Unix(clock.Load(), 0) }})
	require.NoError(t, err)
	require.True(t, v.Remote())
	require.False(t, v.Ready())
	changed, err := v.Refresh(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	require.True(t, v.Ready())
	old, next := edKey().sign(t, claims()), ecKey().sign(t, claims())
	_, _, err = v.Verify(t.Context(), old)
	require.NoError(t, err)

	publish(jwks(ecKey()))
	_, _, err = v.Verify(t.Context(), next)
	require.EqualError(t, err, "the token's key is unknown") // fetched a moment ago
	require.EqualValues(t, 1, fetched.Load())
	clock.Add(int64(refreshPause / time.Second))
	var waiting sync.WaitGroup
	for range 8 {
		waiting.Go(func() {
			if _, _, err := v.Verify(context.Background(), next); err != nil {
				t.Error(err)
			}
		})
	}
	gate <- struct{}{}
	waiting.Wait()
	require.EqualValues(t, 2, fetched.Load())
	_, _, ok := v.Known(old)
	require.False(t, ok, "its key was removed")
	changed, err = v.Refresh(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	for i := range 50 {
		_, _, err = v.Verify(t.Context(), edKey().sign(t, claims(), "kid", fmt.Sprint(i)))
		require.Error(t, err)
	}
	require.EqualValues(t, 2, fetched.Load())

	// What cannot be read changes nothing, for a day.
	publish([]byte("no keys"))
	gate <- struct{}{}
	clock.Add(int64(refreshAge / time.Second))
	_, err = v.Refresh(t.Context())
	require.ErrorContains(t, err, "not valid")
	require.EqualValues(t, 1, v.Failures())
	_, _, err = v.Verify(t.Context(), next)
	require.NoError(t, err)
	clock.Add(int64(maxStale / time.Second))
	gate <- struct{}{}
	changed, err = v.Refresh(t.Context())
	require.ErrorContains(t, err, "not valid", "from now on tokens are refused")
	require.True(t, changed)
	require.False(t, v.Ready())
}

// TestSameStampOfTokenKeys: a file of keys whose time and size are those of the one before is read all the same.
func TestSameStampOfTokenKeys(t *testing.T) {
	t.Parallel()
	v := verifierOf(t, jwks(edKey()), clockAt(now))
	old := edKey().sign(t, claims())
	_, _, err := v.Verify(t.Context(), old)
	require.NoError(t, err)
	stamp, err := os.Stat(v.opts.Keys)
	require.NoError(t, err)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	next := &signer{"ed", private, jwt.SigningMethodEdDSA}
	require.NoError(t, os.WriteFile(v.opts.Keys, jwks(next), 0o600))
	require.NoError(t, os.Chtimes(v.opts.Keys, stamp.ModTime(), stamp.ModTime()))
	same, err := os.Stat(v.opts.Keys)
	require.NoError(t, err)
	require.Equal(t, stamp.Size(), same.Size())
	changed, err := v.Refresh(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	_, _, err = v.VerifyAgain(old)
	require.EqualError(t, err, "the token is not valid")
	_, _, err = v.Verify(t.Context(), next.sign(t, claims()))
	require.NoError(t, err)
}

// TestSourcesOfKeys are places of keys that are refused.
func TestSourcesOfKeys(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]string{
		"http://example.org/jwks":           "must begin with https://",
		"http://127.0.0.1.example.org/jwks": "must begin with https://",
		"https://user:secret@example.org/":  "must not contain a password",
		"file:///etc/passwd":                "is no file and no https URL",
		"gopher://x/":                       "is no file and no https URL",
	} {
		_, err := newTokenVerifier(TokenOptions{Keys: where, Issuer: "i", Audience: "a"})
		require.ErrorContains(t, err, want, where)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := newTokenVerifier(TokenOptions{Keys: "f"})
	require.ErrorContains(t, err, "need an issuer and an audience")
}

// TestHostileSourcesOfKeys: a server of keys that redirects or sends too much is not followed.
func TestHostileSourcesOfKeys(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/keys", http.StatusFound)
		case "/endless":
			for line := make([]byte, 64<<10); ; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		case "/error":
			w.WriteHeader(http.StatusForbidden)
		default:
			_, _ = w.Write(jwks(edKey()))
		}
	}))
	defer web.Close()
	for path, want := range map[string]string{"/redirect": "redirects", "/endless": "has more than", "/error": "403"} {
		v, err := newTokenVerifier(TokenOptions{Keys: web.URL + path, Issuer: "i", Audience: "a"})
		require.NoError(t, err)
		_, err = v.Refresh(t.Context())
		require.ErrorContains(t, err, want)
	}
}

func TestKeySets(t *testing.T) {
	t.Parallel()
	small, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // it must be refused
	if err == nil {
		_, err = parseKeySet(jwks(&signer{"s", small, nil}))
		require.ErrorContains(t, err, "1024 bits")
	}
	edited := func(s *signer, name, value string) []byte {
		k := s.jwk()
		k[name] = value
		text, _ := json.Marshal(map[string]any{"keys": []any{k}})
		return text
	}
	var many []*signer
	for i := range maxKeys + 1 {
		many = append(many, &signer{fmt.Sprint(i), edKey().private, nil})
	}
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"empty":            {[]byte(`{"keys":[]}`), "has no key"},
		"shared secret":    {[]byte(`{"keys":[{"kty":"oct","k":"AAAA"}]}`), "has no key"},
		"encryption":       {edited(rsaKey(), "use", "enc"), "has no key"},
		"other algorithm":  {edited(rsaKey(), "alg", "RS512"), "has no key"},
		"even exponent":    {edited(rsaKey(), "e", "Ag"), "wrong exponent"},
		"exponent 1":       {edited(rsaKey(), "e", "AQ"), "wrong exponent"},
		"not on the curve": {edited(ecKey(), "x", encode(make([]byte, 32))), "key 1 of the set"},
		"short point":      {edited(ecKey(), "x", "AA"), "32 bytes"},
		"short ed25519":    {edited(edKey(), "x", "AA"), "must have 32"},
		"no modulus":       {edited(rsaKey(), "n", ""), "missing"},
		"twice":            {jwks(edKey(), edKey()), "two keys"},
		"many":             {jwks(many...), "may have 100"},
		"large":            {make([]byte, maxSet+1), "has more than"},
	} {
		_, err := parseKeySet(c.text)
		require.ErrorContains(t, err, c.want, name)
	}
}

// TestTokensAreBounded: tokens that are remembered make room for others.
func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	v := verifierOf(t, jwks(edKey()), clockAt(now))
	for i := range maxKnown + 100 {
		v.remember(hashToken(fmt.Sprint(i)), verifiedToken{})
	}
	require.Len(t, v.known, maxKnown)
}

func FuzzVerify(f *testing.F) {
	v := verifierOf(f, jwks(edKey()), clockAt(now))
	good := edKey().sign(f, claims())
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add("a.b.c")
	f.Add(encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(`{}`)) + ".")
	f.Fuzz(func(t *testing.T, text string) {
		who, _, err := v.Verify(context.Background(), text)
		if (err == nil) != (text == good) {
			t.Fatalf("%q: %v %v", text, who, err)
		}
	})
}

func FuzzParseSet(f *testing.F) {
	f.Add(jwks(edKey(), ecKey(), rsaKey()))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parseKeySet(text)
		if err == nil && len(keys) == 0 {
			t.Fatal("a set without keys")
		}
	})
}

func BenchmarkKnown(b *testing.B) {
	v := verifierOf(b, jwks(edKey()), clockAt(now))
	text := edKey().sign(b, claims())
	_, _, err := v.Verify(b.Context(), text)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := v.Known(text); !ok {
			b.Fatal()
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, s := range []*signer{rsaKey(), ecKey(), edKey()} {
		b.Run(s.id, func(b *testing.B) {
			v := verifierOf(b, jwks(s), clockAt(now))
			text := s.sign(b, claims())
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := v.Verify(b.Context(), text); err != nil {
					b.Fatal(err)
				}
				clear(v.known)
			}
		})
	}
}
