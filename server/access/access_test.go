package access

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/server/access/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a guard over files that a test changes.
type fixture struct {
	*Guard
	policy, keys, audit string
	log                 *bytes.Buffer
	now                 time.Time
}

func write(t testing.TB, file, text string) {
	t.Helper()
	next := file + ".next"
	require.NoError(t, os.WriteFile(next, []byte(text), 0o600))
	require.NoError(t, os.Rename(next, file))
}

// make returns a key of an owner and its line for a file.
func makeKey(t testing.TB, owner string) (key, line string) {
	t.Helper()
	key, e, err := NewAPIKey(owner, time.Unix(0, 0), time.Time{})
	require.NoError(t, err)
	return key, string(FormatAPIKeys([]APIKey{e}))
}

func newFixture(t testing.TB, rules, keys string) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{policy: filepath.Join(dir, "policy"), keys: filepath.Join(dir, "keys"), audit: filepath.Join(dir, "audit"), log: &bytes.Buffer{}, now: time.Unix(1e9, 0)}
	write(t, f.policy, rules)
	write(t, f.keys, keys)
	o := Default()
	o.Policy, o.Keys, o.Audit.File = f.policy, f.keys, f.audit
	o.Failures = 3
	o.Tokens = TokenOptions{Now: func() time.Time { return f.now }}
	var err error
	f.Guard, err = New(o, slog.New(slog.NewTextHandler(f.log, nil)))
	require.NoError(t, err)
	f.Reload()
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Reload is what Run does each second.
func (f *fixture) Reload() {
	f.reloadFiles()
	if f.tokens != nil {
		f.reloadTokens(context.Background())
	}
}

const inferA = "rules:\n- who: ['key:a']\n  allow: [infer]\n  models: [a]\n"

func call(model string) *Call {
	return &Call{Action: policy.ActionInfer, Method: "infer", Model: model}
}

// admit is a whole call.
func (f *fixture) admit(t testing.TB, c Caller, call *Call) *Refusal {
	t.Helper()
	s, refusal := f.Begin(t.Context(), c, call)
	if refusal != nil {
		return refusal
	}
	e, refusal := s.Admit(t.Context(), call)
	e.End("200", "id")
	return refusal
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	key, line := makeKey(t, "a")
	f := newFixture(t, inferA, line)
	peer := policy.NewPrincipal("uid:7")
	for name, c := range map[string]struct {
		caller Caller
		want   *Refusal
	}{
		"bearer":               {Caller{Authorization: "Bearer " + key}, nil},
		"bearer in capitals":   {Caller{Authorization: "BEARER  " + key + " "}, nil},
		"header":               {Caller{Key: key}, nil},
		"both, the key counts": {Caller{Authorization: "Basic x", Key: key}, nil},
		"nothing":              {Caller{}, errNobody},
		"basic":                {Caller{Authorization: "Basic " + key}, errCredential},
		"empty bearer":         {Caller{Authorization: "Bearer "}, errCredential},
		"no scheme":            {Caller{Authorization: key}, errCredential},
		"wrong":                {Caller{Key: key[:len(key)-1] + "_"}, errCredential},
		"peer without rights":  {Caller{Peer: peer}, errDenied},
		"wrong, with a peer":   {Caller{Peer: peer, Key: "x"}, errCredential},
	} {
		require.Equal(t, c.want, f.admit(t, c.caller, call("a")), name)
	}
	// A model that does not exist is denied like one that does.
	require.Equal(t, errDenied, f.admit(t, Caller{Key: key}, call("b")))
	require.Equal(t, errDenied, f.admit(t, Caller{Key: key}, call("none")))
	require.Equal(t, errNobody, f.admit(t, Caller{}, call("none")))
	require.NoError(t, f.Close())
	text, err := os.ReadFile(f.audit)
	require.NoError(t, err)
	require.NotContains(t, string(text)+f.log.String(), key, "a secret is in a log")
	require.NotContains(t, string(text)+f.log.String(), key[10:30])
	require.Contains(t, string(text), `"principal":"key:a","method":"infer","action":"infer","model":"a","id":"id","result":"allowed","status":"200"`)
	require.Contains(t, string(text), `"principal":"anonymous","method":"infer","action":"infer","model":"a","result":"unauthenticated"`)
}

// TestReload: a file with mistakes changes nothing; a good one holds at once, also for sessions
// that last.
func TestReload(t *testing.T) {
	t.Parallel()
	key, line := makeKey(t, "a")
	f := newFixture(t, inferA, line)
	s, refusal := f.Begin(t.Context(), Caller{Key: key}, call(""))
	require.Nil(t, refusal)
	ask := func() *Refusal {
		e, refusal := s.Admit(t.Context(), call("a"))
		e.End("", "")
		return refusal
	}
	require.Nil(t, ask())

	write(t, f.policy, "rules:\n- who: [nobody]\n")
	f.Reload()
	f.Reload()
	require.Nil(t, ask())
	require.EqualValues(t, 1, f.Counts().ReloadFailures, "a mistake is reported once")
	require.Contains(t, f.log.String(), "line 2")

	write(t, f.policy, "rules: []\n# and nothing else\n")
	f.Reload()
	require.Equal(t, errDenied, ask())
	write(t, f.policy, inferA+"# again\n")
	f.Reload()
	require.Nil(t, ask())
	failures := f.Counts().ReloadFailures
	require.NoError(t, os.Remove(f.policy)) // while it is replaced
	f.Reload()
	require.Nil(t, ask())
	require.Equal(t, failures, f.Counts().ReloadFailures)
	for range 3 {
		f.Reload()
	}
	require.Nil(t, ask())
	require.Equal(t, failures+1, f.Counts().ReloadFailures, "a file that stays away is reported, once")
	write(t, f.policy, inferA)
	write(t, f.keys, "# the key was revoked\n")
	f.Reload()
	require.Equal(t, errCredential, ask(), "a session outlives its key")
}

// TestFilesApplyOnTheirOwn: a key that is revoked while the policy is broken or missing is refused,
// and a new one is known. What does not apply is reported until it does.
func TestFilesApplyOnTheirOwn(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(f *fixture){
		"broken":  func(f *fixture) { write(t, f.policy, inferA+"x: y\n") },
		"missing": func(f *fixture) { require.NoError(t, os.Remove(f.policy)) },
		"a folder": func(f *fixture) {
			require.NoError(t, os.Remove(f.policy))
			require.NoError(t, os.Mkdir(f.policy, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			revoked, line := makeKey(t, "a")
			f := newFixture(t, inferA, line)
			ask := func(key string) *Refusal {
				_, refusal := f.Begin(t.Context(), Caller{Key: key}, call("a"))
				return refusal
			}
			require.Nil(t, ask(revoked))
			spoil(f)
			for range 3 {
				f.Reload()
			}
			require.Nil(t, ask(revoked), "the last good policy stays in force")
			require.Len(t, f.Problems(), 1)
			require.Contains(t, f.Problems()[0], f.policy)
			fresh, line := makeKey(t, "a")
			write(t, f.keys, line)
			f.Reload()
			require.Equal(t, errCredential, ask(revoked))
			require.Nil(t, ask(fresh))
			require.Len(t, f.Problems(), 1)

			if name == "a folder" {
				require.NoError(t, os.Remove(f.policy))
			}
			write(t, f.policy, inferA)
			f.Reload()
			require.Empty(t, f.Problems())
			write(t, f.keys, "no key\n")
			f.Reload()
			require.Nil(t, ask(fresh), "the last good keys stay in force")
			require.Len(t, f.Problems(), 1)
			write(t, f.policy, "rules: []\n")
			f.Reload()
			require.Equal(t, errDenied, ask(fresh))
		})
	}
}

// TestSameStamp: a file whose time and size are those of the one before is read all the same.
func TestSameStamp(t *testing.T) {
	t.Parallel()
	old, oldLine := makeKey(t, "a")
	next, nextLine := makeKey(t, "a")
	f := newFixture(t, inferA, oldLine)
	at := time.Unix(1e9, 0)
	require.NoError(t, os.Chtimes(f.keys, at, at))
	f.Reload()
	write(t, f.keys, nextLine)
	require.NoError(t, os.Chtimes(f.keys, at, at))
	f.Reload()
	_, refusal := f.Begin(t.Context(), Caller{Key: old}, call("a"))
	require.Equal(t, errCredential, refusal)
	_, refusal = f.Begin(t.Context(), Caller{Key: next}, call("a"))
	require.Nil(t, refusal)
}

// silent is a server of keys that answers once and then never.
type silent struct {
	keys  []byte
	asked atomic.Int64
}

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.asked.Add(1) == 1 {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(s.keys))}, nil
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestSilentKeyServer: while the server of keys for tokens does not answer, files are read within
// a second all the same, and Run ends at once.
func TestSilentKeyServer(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keys")
	key, line := makeKey(t, "a")
	synctest.Test(t, func(t *testing.T) {
		write(t, file, line)
		web := &silent{keys: []byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)}
		o := Default()
		o.Keys, o.Tokens.Keys, o.Tokens.Issuer, o.Tokens.Audience = file, "https://issuer/keys", "i", "a"
		o.Tokens.Client = &http.Client{Transport: web}
		g, err := New(o, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			g.Run(ctx)
		}()
		for web.asked.Load() < 2 {
			time.Sleep(interval)
		}
		write(t, file, "# the key was revoked\n")
		time.Sleep(2 * interval)
		_, refusal := g.Begin(t.Context(), Caller{Key: key}, call("a"))
		require.Equal(t, errCredential, refusal)
		begun := time.Now()
		cancel()
		<-done
		require.Zero(t, time.Since(begun))
		require.NoError(t, g.Close())
	})
}

// TestExpiry ends a session when its key expires.
func TestExpiry(t *testing.T) {
	t.Parallel()
	key, e, err := NewAPIKey("a", time.Unix(0, 0), time.Unix(1e9+10, 0))
	require.NoError(t, err)
	f := newFixture(t, inferA, string(FormatAPIKeys([]APIKey{e})))
	s, refusal := f.Begin(t.Context(), Caller{Key: key}, call(""))
	require.Nil(t, refusal)
	_, refusal = s.Admit(t.Context(), call("a"))
	require.Nil(t, refusal)
	f.now = f.now.Add(10 * time.Second)
	_, refusal = s.Admit(t.Context(), call("a"))
	require.Equal(t, errCredential, refusal)
}

// TestDamping: an address that guesses has to wait. A good key from there and other addresses
// are not locked out.
func TestDamping(t *testing.T) {
	t.Parallel()
	key, line := makeKey(t, "a")
	f := newFixture(t, inferA, line)
	bad := Caller{Key: "guess", Address: "192.0.2.1:1"}
	for range 4 {
		require.Equal(t, errCredential, f.admit(t, bad, call("a")))
	}
	refusal := f.admit(t, bad, call("a"))
	require.Equal(t, 429, refusal.HTTP())
	name, value := refusal.Header()
	require.Equal(t, "Retry-After 1", name+" "+value)
	require.Nil(t, f.admit(t, Caller{Key: key, Address: bad.Address}, call("a")))
	require.Equal(t, errCredential, f.admit(t, Caller{Key: "guess", Address: "192.0.2.2:1"}, call("a")))
	require.Equal(t, errNobody, f.admit(t, Caller{Address: bad.Address}, call("a")), "probes without credentials do not wait")
	f.now = f.now.Add(time.Second)
	require.Equal(t, errCredential, f.admit(t, bad, call("a")))
	c := f.Counts()
	require.EqualValues(t, 1, c.Admitted)
	require.EqualValues(t, 1, c.Delayed)
}

func TestMistakesAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	write(t, file, "x: 1")
	log := slog.New(slog.DiscardHandler)
	for want, o := range map[string]Options{
		`access policy ` + file + `: line 1: unknown key "x"`: {Policy: file},
		"API keys " + file + ": line 1":                       {Keys: file},
		"no such file":                                        {Policy: file + ".none"},
		"tokens: keys of " + file:                             {Tokens: TokenOptions{Keys: file, Issuer: "i", Audience: "a"}},
		"tokens: tokens need an issuer":                       {Tokens: TokenOptions{Keys: file}},
	} {
		_, err := New(o, log)
		require.ErrorContains(t, err, want)
	}
	o := Options{}
	o.Audit.File = dir
	_, err := New(o, log)
	require.ErrorContains(t, err, "audit log: ")
	g, err := New(Options{Failures: 3}, log)
	require.NoError(t, err)
	require.Nil(t, g)
}

// TestAuditAlone refuses nobody.
func TestAuditAlone(t *testing.T) {
	t.Parallel()
	o := Default()
	o.Audit.File = filepath.Join(t.TempDir(), "audit")
	g, err := New(o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for _, a := range policy.AllActions() {
		s, refusal := g.Begin(t.Context(), Caller{Authorization: "Bearer of something"}, &Call{Action: a, Method: a.String()})
		require.Nil(t, refusal)
		e, refusal := s.Admit(t.Context(), &Call{Action: a, Method: a.String(), Model: "m"})
		require.Nil(t, refusal)
		require.True(t, s.May(a, "m", ""))
		require.False(t, s.Filters(a))
		e.End("200", "")
	}
	require.NoError(t, g.Close())
	text, err := os.ReadFile(o.Audit.File)
	require.NoError(t, err)
	require.Equal(t, len(policy.AllActions())-2, strings.Count(string(text), "\n"), "all but the probes")
}

// stuck is a disk that takes nothing until it is released.
type stuck chan struct{}

func (s stuck) Write(b []byte) (int, error) {
	<-s
	return len(b), nil
}

// TestFloodOfRefusals: callers without credentials cannot fill the audit log so that calls are
// refused that must be recorded. What is not recorded is counted.
func TestFloodOfRefusals(t *testing.T) {
	t.Parallel()
	key, line := makeKey(t, "a")
	disk := make(stuck)
	o := Default()
	o.Keys = filepath.Join(t.TempDir(), "keys")
	write(t, o.Keys, line)
	o.Audit.File, o.Audit.Stderr, o.Audit.Required, o.Audit.Queue = "stderr", disk, true, 8
	g, err := New(o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for range 20 {
		_, refusal := g.Begin(t.Context(), Caller{}, call("a"))
		require.Equal(t, errNobody, refusal)
	}
	s, refusal := g.Begin(t.Context(), Caller{Key: key}, call("a"))
	require.Nil(t, refusal)
	e, refusal := s.Admit(t.Context(), call("a"))
	require.Nil(t, refusal)
	e.End("200", "")
	require.EqualValues(t, 16, g.Counts().Dropped)
	close(disk)
	require.NoError(t, g.Close())
}

// TestNoGuard costs nothing.
func TestNoGuard(t *testing.T) {
	var g *Guard
	c := call("a")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s, _ := g.Begin(t.Context(), Caller{}, c)
		e, _ := s.Admit(t.Context(), c)
		e.End("", "")
	}))
	require.NoError(t, g.Close())
}

func BenchmarkAdmit(b *testing.B) {
	key, line := makeKey(b, "a")
	for _, audited := range []bool{false, true} {
		b.Run(map[bool]string{false: "key", true: "key+audit"}[audited], func(b *testing.B) {
			f := newFixture(b, inferA, line)
			if !audited {
				_ = f.Close()
				f.audit = ""
				f.Guard.audit = nil
			}
			caller, c := Caller{Key: key, Address: "192.0.2.1:1"}, call("a")
			b.ReportAllocs()
			for b.Loop() {
				s, _ := f.Begin(b.Context(), caller, c)
				e, refusal := s.Admit(b.Context(), c)
				if refusal != nil {
					b.Fatal(refusal)
				}
				e.End("200", "")
			}
		})
	}
}
