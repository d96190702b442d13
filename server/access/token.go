// JSON Web Tokens (RFC 7519) that other systems sign are checked here: RS256, ES256 and EdDSA, with
// public keys from a file or a URL.

package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"triton/server/access/policy"
)

// TokenOptions configure a verifier.
type TokenOptions struct {
	// Keys is a file or an https URL with the public keys.
	Keys string
	// Issuer and Audience must be those of each token.
	Issuer, Audience string
	// Leeway is how far the clocks may differ.
	Leeway time.Duration
	// Groups is the claim that lists the groups of a principal.
	Groups string
	// Client fetches the keys; nil is one that follows no redirects.
	Client *http.Client
	// Now is the clock; nil: that of the system.
	Now func() time.Time
}

// tokenVerifier checks tokens and remembers good ones.
type tokenVerifier struct {
	opts   TokenOptions
	keys   *keySource
	parser *jwt.Parser
	mu     sync.RWMutex
	known  map[[sha256.Size]byte]verifiedToken
	seen   atomic.Pointer[keySet] // by Refresh
}

// verifiedToken is a token that was checked.
type verifiedToken struct {
	who     *policy.Principal
	expires time.Time
	keys    *keySet // that it was checked with
}

const (
	// maxTokenLength bounds a token, in bytes.
	maxTokenLength = 16 << 10
	// maxKnown bounds the tokens that are remembered.
	maxKnown = 8192
	// maxName bounds the name of a principal and maxGroups the number of its groups.
	maxName   = 512
	maxGroups = 256
)

// Errors of Verify.
var (
	errLong  = errors.New("the token is too long")
	errKey   = errors.New("the token's key is unknown")
	errCrit  = errors.New("the token has critical headers")
	errClaim = errors.New("the token has no valid subject")
)

// newTokenVerifier returns a verifier. The keys are loaded by Refresh.
func newTokenVerifier(o TokenOptions) (*tokenVerifier, error) {
	if o.Issuer == "" || o.Audience == "" {
		return nil, errors.New("tokens need an issuer and an audience to check: otherwise tokens for other services would pass")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	keys, err := newKeySource(o.Keys, o.Client, o.Now)
	if err != nil {
		return nil, err
	}
	return &tokenVerifier{
		opts: o, keys: keys, known: map[[sha256.Size]byte]verifiedToken{},
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{"RS256", "ES256", "EdDSA"}), jwt.WithIssuer(o.Issuer), jwt.WithAudience(o.Audience),
			jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(o.Leeway), jwt.WithTimeFunc(o.Now), jwt.WithStrictDecoding(),
		),
	}, nil
}

// Refresh loads the keys if they may have changed. It reports whether they did since the last
// call: then tokens are checked anew. A failure is reported once; the earlier keys stay for a day.
func (v *tokenVerifier) Refresh(ctx context.Context) (changed bool, err error) {
	err = v.keys.refresh(ctx)
	now := v.keys.keys.Load()
	return v.seen.Swap(now) != now, err
}

// Close ends the loading of keys that a token has caused.
func (v *tokenVerifier) Close() { v.keys.end() }

// Ready reports whether there are keys.
func (v *tokenVerifier) Ready() bool { return v.keys.keys.Load() != nil }

// Remote reports whether the keys come from a URL.
func (v *tokenVerifier) Remote() bool { return v.keys.remote }

// Failures returns how often the keys could not be loaded.
func (v *tokenVerifier) Failures() int64 { return v.keys.failures.Load() }

// Known returns the principal of a token that was checked before and is still valid.
func (v *tokenVerifier) Known(text string) (who *policy.Principal, expires time.Time, ok bool) {
	if len(text) > maxTokenLength {
		return nil, time.Time{}, false
	}
	k, ok := v.lookup(hashToken(text))
	return k.who, k.expires, ok
}

func (v *tokenVerifier) lookup(h [sha256.Size]byte) (verifiedToken, bool) {
	v.mu.RLock()
	k, ok := v.known[h]
	v.mu.RUnlock()
	return k, ok && k.keys == v.keys.keys.Load() && v.opts.Now().Before(k.expires)
}

// hashToken identifies a token without keeping it.
func hashToken(text string) [sha256.Size]byte {
	var buf [2 << 10]byte
	return sha256.Sum256(append(buf[:0], text...)) // no allocation for tokens of usual length
}

// Verify checks a token and returns its principal. If its key is unknown the keys may be loaded
// first. The error does not quote the token.
func (v *tokenVerifier) Verify(ctx context.Context, text string) (*policy.Principal, time.Time, error) {
	return v.verify(text, func() { v.keys.unknown(ctx) })
}

// VerifyAgain is Verify for a token that was checked before: keys that were loaded since may no
// longer have its own. It does not wait.
func (v *tokenVerifier) VerifyAgain(text string) (*policy.Principal, time.Time, error) {
	return v.verify(text, func() {})
}

func (v *tokenVerifier) verify(text string, unknown func()) (*policy.Principal, time.Time, error) {
	if len(text) > maxTokenLength {
		return nil, time.Time{}, errLong
	}
	h := hashToken(text)
	if k, ok := v.lookup(h); ok {
		return k.who, k.expires, nil
	}
	claims, keys := jwt.MapClaims{}, (*keySet)(nil)
	if _, err := v.parser.ParseWithClaims(text, claims, func(t *jwt.Token) (public any, err error) {
		public, keys, err = v.key(t, unknown)
		return public, err
	}); err != nil {
		return nil, time.Time{}, tokenFault(err)
	}
	k, err := v.principal(claims)
	if err != nil {
		return nil, time.Time{}, err
	}
	k.keys = keys
	v.remember(h, k)
	return k.who, k.expires, nil
}

// key returns the public key that a token names, if it is for the token's algorithm, and the
// set that has it. If none has it unknown is called, and the keys are looked at again.
func (v *tokenVerifier) key(t *jwt.Token, unknown func()) (any, *keySet, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, nil, errCrit // RFC 7515: unknown extensions must be refused, and none is known
	}
	id, _ := t.Header["kid"].(string)
	keys := v.keys.keys.Load()
	k, ok := keys.find(id)
	if !ok {
		unknown()
		keys = v.keys.keys.Load()
		k, ok = keys.find(id)
	}
	if !ok || k.algorithm != t.Method.Alg() {
		return nil, nil, errKey
	}
	return k.public, keys, nil
}

// principal reads the claims of a token whose signature and times are right.
func (v *tokenVerifier) principal(claims jwt.MapClaims) (verifiedToken, error) {
	subject, err := claims.GetSubject()
	if err != nil || subject == "" || len(subject) > maxName {
		return verifiedToken{}, errClaim
	}
	expires, err := claims.GetExpirationTime()
	if err != nil || expires == nil {
		return verifiedToken{}, errClaim
	}
	var groups []string
	if list, ok := claims[v.opts.Groups].([]any); ok {
		for _, g := range list {
			if name, ok := g.(string); ok && name != "" && len(name) <= maxName && len(groups) < maxGroups {
				groups = append(groups, "jwt-group:"+name)
			}
		}
	}
	return verifiedToken{who: policy.NewPrincipal("jwt:"+subject, groups...), expires: expires.Add(v.opts.Leeway)}, nil
}

// remember keeps a token. When too many are kept, any makes room.
func (v *tokenVerifier) remember(h [sha256.Size]byte, k verifiedToken) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for old := range v.known {
		if len(v.known) < maxKnown {
			break
		}
		delete(v.known, old)
	}
	v.known[h] = k
}

// tokenFault returns a text about a wrong token for clients.
func tokenFault(err error) error {
	for _, known := range []struct {
		is   error
		text string
	}{
		{jwt.ErrTokenExpired, "the token has expired"},
		{jwt.ErrTokenNotValidYet, "the token is not valid yet"},
		{jwt.ErrTokenUsedBeforeIssued, "the token was issued in the future"},
		{jwt.ErrTokenInvalidAudience, "the token is for another audience"},
		{jwt.ErrTokenInvalidIssuer, "the token is of another issuer"},
		{jwt.ErrTokenRequiredClaimMissing, "the token lacks a required claim"},
		{errKey, errKey.Error()},
		{errCrit, errCrit.Error()},
	} {
		if errors.Is(err, known.is) {
			return errors.New(known.text)
		}
	}
	return errors.New("the token is not valid")
}
