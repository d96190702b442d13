package access

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"triton/server/access/policy"
)

// lastingCall is a stream with running requests.
type lastingCall struct {
	models  []string
	refused []*Refusal
}

func (l *lastingCall) EachModel(visit func(model, version string) bool) {
	for _, m := range l.models {
		if !visit(m, "") {
			return
		}
	}
}

func (l *lastingCall) Refuse(r *Refusal) { l.refused = append(l.refused, r) }

// follow begins a stream with running requests of models.
func (f *fixture) follow(t *testing.T, c Caller, models ...string) *lastingCall {
	t.Helper()
	s, refusal := f.Begin(t.Context(), c, call(""))
	require.Nil(t, refusal)
	l := &lastingCall{models: models}
	s.Follow(*call(""), l)
	return l
}

const inferAB = "rules:\n- who: ['key:*', 'uid:7']\n  allow: [infer]\n  models: [a, b]\n"

// TestLastingCalls: each change of the rules ends the streams of those who may no longer use them,
// and no others.
func TestLastingCalls(t *testing.T) {
	t.Parallel()
	peer := policy.NewPrincipal("uid:7")
	for name, c := range map[string]struct {
		change     func(f *fixture, otherLine string)
		none       string // what ends the stream that waits for requests
		a, b, peer string // what ends the streams with requests of these models, and that of a peer
	}{
		"nothing":         {change: func(*fixture, string) {}},
		"another comment": {change: func(f *fixture, _ string) { write(t, f.policy, inferAB+"# again\n") }},
		"a broken policy": {change: func(f *fixture, _ string) { write(t, f.policy, "rules: x") }},
		"the key":         {change: func(f *fixture, line string) { write(t, f.keys, line) }, none: errCredential.Msg, a: errCredential.Msg, b: errCredential.Msg},
		"the right to b": {change: func(f *fixture, _ string) {
			write(t, f.policy, "rules:\n- who: ['key:*', 'uid:7']\n  allow: [infer]\n  models: [a]\n")
		}, b: errDenied.Msg},
		"all rights": {change: func(f *fixture, _ string) { write(t, f.policy, "rules: []") }, none: errDenied.Msg, a: errDenied.Msg, b: errDenied.Msg, peer: errDenied.Msg},
		"rights of a peer": {change: func(f *fixture, _ string) {
			write(t, f.policy, "rules:\n- who: ['key:*']\n  allow: [infer]\n  models: ['*']\n")
		}, peer: errDenied.Msg},
		"open to all": {change: func(f *fixture, line string) { write(t, f.policy, "open: [health]\n"+inferAB) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, line := makeKey(t, "a")
			_, otherLine := makeKey(t, "a")
			f := newFixture(t, inferAB, line)
			caller := Caller{Key: key, Address: "192.0.2.1:1"}
			streams := []*lastingCall{f.follow(t, caller), f.follow(t, caller, "a"), f.follow(t, caller, "a", "b"), f.follow(t, Caller{Peer: peer}, "a")}
			f.Reload()
			c.change(f, otherLine)
			f.Reload()
			f.Reload()
			refused := int64(0)
			for i, want := range []string{c.none, c.a, c.b, c.peer} {
				if want == "" {
					require.Empty(t, streams[i].refused, i)
					continue
				}
				refused++
				require.Len(t, streams[i].refused, 1, i)
				require.Equal(t, "the stream was ended: "+want, streams[i].refused[0].Msg)
			}
			require.Equal(t, refused, f.Counts().Unauthenticated+f.Counts().Denied)
			require.Len(t, f.lasting.all, len(streams)-int(refused))
			if refused == 0 {
				return
			}
			require.NoError(t, f.Close())
			text, err := os.ReadFile(f.audit)
			require.NoError(t, err)
			who := map[bool]string{true: "uid:7", false: "key:a"}[c.peer != "" && c.a == ""]
			require.Contains(t, string(text), `"principal":"`+who+`"`)
		})
	}
}

// TestLastingCallsEnd: a call that ended by itself is not decided about any more.
func TestLastingCallsEnd(t *testing.T) {
	t.Parallel()
	key, line := makeKey(t, "a")
	f := newFixture(t, inferA, line)
	s, refusal := f.Begin(t.Context(), Caller{Key: key}, call(""))
	require.Nil(t, refusal)
	l := &lastingCall{}
	forget := s.Follow(*call(""), l)
	forget()
	forget()
	require.Empty(t, f.lasting.all)
	require.False(t, s.Stale())
	write(t, f.keys, "# revoked\n")
	f.Reload()
	require.True(t, s.Stale())
	require.Empty(t, l.refused)

	var none Session
	none.Follow(*call(""), l)()
	require.False(t, none.Stale())
}

// TestLastingCallsExpire: streams end when their credentials expire, and when the key of their token
// leaves the set. The caller is not taken for somebody who guesses.
func TestLastingCallsExpire(t *testing.T) {
	t.Parallel()
	_, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	set := func(id string) string {
		return fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q}]}`, id, base64.RawURLEncoding.EncodeToString(private.Public().(ed25519.PublicKey)))
	}
	now := time.Unix(1e9, 0)
	sign := func(life time.Duration) string {
		tok := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"iss": "i", "aud": "a", "sub": "alice", "exp": now.Add(life).Unix()})
		tok.Header["kid"] = "k"
		text, err := tok.SignedString(private)
		require.NoError(t, err)
		return text
	}
	key, entry, err := NewAPIKey("a", now, now.Add(20*time.Second))
	require.NoError(t, err)
	dir := t.TempDir()
	f := &fixture{keys: filepath.Join(dir, "keys"), now: now}
	jwks := filepath.Join(dir, "jwks")
	write(t, f.keys, string(FormatAPIKeys([]APIKey{entry})))
	write(t, jwks, set("k"))
	o := Default()
	o.Keys, o.Failures = f.keys, 1
	o.Tokens = TokenOptions{Keys: jwks, Issuer: "i", Audience: "a", Leeway: 5 * time.Second, Now: func() time.Time { return f.now }}
	f.Guard, err = New(o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })

	from := "192.0.2.1:1"
	bearer := func(life time.Duration) Caller { return Caller{Authorization: "Bearer " + sign(life), Address: from} }
	var short []*lastingCall
	for range 5 {
		short = append(short, f.follow(t, bearer(10*time.Second)))
	}
	long, withKey := f.follow(t, bearer(time.Hour)), f.follow(t, Caller{Key: key, Address: from})
	f.now = now.Add(14 * time.Second) // within the leeway
	f.Reload()
	require.Empty(t, short[0].refused)
	f.now = now.Add(16 * time.Second)
	f.Reload()
	for _, l := range short {
		require.Len(t, l.refused, 1)
		require.Equal(t, "the stream was ended: the token has expired", l.refused[0].Msg)
		require.Equal(t, 401, l.refused[0].HTTP())
	}
	_, refusal := f.Begin(t.Context(), bearer(2*time.Hour), &Call{Action: policy.ActionInfer})
	require.Nil(t, refusal, "the address is damped")
	require.Empty(t, withKey.refused)
	f.now = now.Add(21 * time.Second)
	f.Reload()
	require.Len(t, withKey.refused, 1)
	require.Equal(t, "the stream was ended: the credentials are not valid", withKey.refused[0].Msg)
	require.Empty(t, long.refused)
	write(t, jwks, set("other"))
	f.Reload()
	require.Len(t, long.refused, 1)
	require.Equal(t, "the stream was ended: the token's key is unknown", long.refused[0].Msg)
	require.Empty(t, f.lasting.all)
}
