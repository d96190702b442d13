// Package access is the one place that decides who may do what, for all protocols: it proves
// the identity of callers, asks the policy for their rights, slows down those that guess, and
// records what they do. Frontends ask it once for each call, and once for each request of a
// stream. A nil Guard admits everything.
package access

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"triton/server/access/audit"
	"triton/server/access/policy"
)

// Guard decides.
type Guard struct {
	opts    Options
	log     *slog.Logger
	now     func() time.Time
	rules   atomic.Pointer[rules]
	quotas  *policy.Accounts
	tokens  *tokenVerifier // nil: there are none
	damping *damping
	audit   *audit.Log // nil: there is none

	changing sync.Mutex // held while the rules are replaced
	lasting  lastingCalls

	files    []*ruleFile // used by reloadFiles
	problems atomic.Pointer[[]string]

	admitted, unauthenticated, denied, delayed, limited, unrecorded, reloadFailures atomic.Int64
}

// Caller is what the transport knows about a caller.
type Caller struct {
	Protocol string
	// Address is the address of the other end, as "host:port"; empty for unix sockets.
	Address string
	// Authorization and Key are the headers Authorization and X-API-Key.
	Authorization, Key string
	// Peer is who the connection proves; nil: nobody.
	Peer *policy.Principal
}

// Call is what a caller wants.
type Call struct {
	Action  policy.Action
	Method  string // for the audit log
	Model   string // empty: none, or all that the caller may see
	Version string
	// Bytes is the size of the request; 0: it is not known.
	Bytes int64
	// Every needs the right for all models, for calls that do not say early which one they are about.
	Every bool
}

// Session is a caller whose identity was checked. The zero value is that of a server without
// guard, which may do everything.
type Session struct {
	guard      *Guard
	caller     Caller
	who        *policy.Principal
	expires    time.Time
	generation uint64
	apart      bool // the call is not open to everybody, so it has a known caller
}

// Errors that are the same for all callers.
var (
	errNobody     = &Refusal{kind: unauthenticated, Msg: "this call needs credentials: send an API key or a token in the header Authorization or X-API-Key"}
	errCredential = &Refusal{kind: unauthenticated, wrong: true, Msg: "the credentials are not valid"}
	errDenied     = &Refusal{kind: denied, Msg: "this call is not permitted"}
	errUnrecorded = &Refusal{kind: unrecorded, Msg: "the call cannot be recorded in the audit log; try again later"}
)

// anonymous is everybody without proof.
var anonymous = policy.NewPrincipal(policy.Anonymous)

// Begin proves the identity of a caller. Wrong credentials are refused; missing ones make the
// caller anonymous. An action that is open to all needs no proof. A caller that has no right to the
// call is refused too, so that nothing of the call need be read. If its model is not known yet, a
// right for any model suffices here.
func (g *Guard) Begin(ctx context.Context, c Caller, call *Call) (Session, *Refusal) {
	if g == nil {
		return Session{}, nil
	}
	r := g.rules.Load()
	s := Session{guard: g, caller: c, who: anonymous, generation: r.generation}
	if r.policy == nil || r.policy.Open(call.Action) {
		if c.Peer != nil {
			s.who = c.Peer
		}
		return s, nil
	}
	s.apart = true
	refusal := s.prove(ctx, r)
	if refusal == nil {
		refusal = s.decide(r, call)
	}
	if refusal != nil {
		s.refused(call, refusal)
	}
	return s, refusal
}

// prove sets the principal. Credentials in headers come before those of the connection.
func (s *Session) prove(ctx context.Context, r *rules) *Refusal {
	text, ok := s.presented()
	if !ok {
		return nil
	}
	return s.credential(ctx, r, text)
}

// presented returns the credential in the caller's headers. Without one it reports false and sets the
// principal to that of the connection.
func (s *Session) presented() (text string, ok bool) {
	s.expires = time.Time{}
	scheme, credential, _ := strings.Cut(s.caller.Authorization, " ")
	switch {
	case s.caller.Key != "":
		credential = s.caller.Key
	case s.caller.Authorization == "" && s.caller.Peer != nil:
		s.who = s.caller.Peer
		return "", false
	case s.caller.Authorization == "":
		s.who = anonymous
		return "", false
	case !strings.EqualFold(scheme, "bearer"):
		credential = ""
	}
	return strings.TrimSpace(credential), true
}

// credential finds the principal of an API key or a token.
func (s *Session) credential(ctx context.Context, r *rules, text string) *Refusal {
	g, now := s.guard, s.guard.now()
	s.who = anonymous
	if s.known(r, text) {
		return nil
	}
	// Known credentials are not slowed down, so that nobody who shares an address with a
	// guesser is locked out. What follows costs the checking of a signature.
	from := address(s.caller.Address)
	if wait := g.damping.Wait(from, now); wait > 0 {
		return &Refusal{kind: delayed, Msg: "too many wrong credentials from this address; try again later", RetryAfter: wait}
	}
	refusal := s.token(text, func() (*policy.Principal, time.Time, error) { return g.tokens.Verify(ctx, text) })
	if refusal != nil {
		g.damping.Failed(from, now)
	}
	return refusal
}

// credentialAgain finds the principal of a credential that was good before. It neither waits nor
// takes the caller for somebody who guesses. If it fails the principal stays, for the audit log.
func (s *Session) credentialAgain(r *rules) *Refusal {
	text, ok := s.presented()
	if !ok || s.known(r, text) {
		return nil
	}
	return s.token(text, func() (*policy.Principal, time.Time, error) { return s.guard.tokens.VerifyAgain(text) })
}

// known finds the principal of an API key, or of a token that was checked before.
func (s *Session) known(r *rules, text string) bool {
	if r.keys != nil {
		if who, expires, ok := r.keys.Find(text, s.guard.now()); ok {
			s.who, s.expires = who, expires
			return true
		}
	}
	if s.guard.tokens != nil {
		if who, expires, ok := s.guard.tokens.Known(text); ok {
			s.who, s.expires = who, expires
			return true
		}
	}
	return false
}

// token finds the principal of a token with verify, which is called if the text may be one.
func (s *Session) token(text string, verify func() (*policy.Principal, time.Time, error)) *Refusal {
	if s.guard.tokens == nil || strings.Count(text, ".") != 2 {
		return errCredential
	}
	who, expires, err := verify()
	if err != nil {
		return &Refusal{kind: unauthenticated, wrong: true, Msg: err.Error()}
	}
	s.who, s.expires = who, expires
	return nil
}

// expired reports whether the session's credential has expired.
func (s *Session) expired() bool { return !s.expires.IsZero() && !s.guard.now().Before(s.expires) }

// address returns the address of a caller; none for unix sockets.
func address(text string) netip.Addr {
	a, _ := netip.ParseAddrPort(text)
	return a.Addr()
}

// check decides about a call. A session that lasts proves its identity again when its
// credentials have expired, or the rules have changed.
func (s *Session) check(ctx context.Context, c *Call) *Refusal {
	g := s.guard
	r := g.rules.Load()
	if r.policy == nil || r.policy.Open(c.Action) {
		return nil
	}
	if s.generation != r.generation || s.expired() {
		s.generation = r.generation
		if refusal := s.prove(ctx, r); refusal != nil {
			return refusal
		}
	}
	return s.decide(r, c)
}

// decide asks the policy.
func (s *Session) decide(r *rules, c *Call) *Refusal {
	switch {
	case c.Every && r.policy.AllowsAll(s.who, c.Action), !c.Every && r.policy.Allows(s.who, c.Action, c.Model, c.Version):
		return nil
	case s.who == anonymous:
		return errNobody
	}
	return errDenied
}

// May reports whether the caller has a right, as of now. Lists of models are filtered with it.
func (s *Session) May(a policy.Action, model, version string) bool {
	if s.guard == nil {
		return true
	}
	p := s.guard.rules.Load().policy
	return p == nil || p.Allows(s.who, a, model, version)
}

// Filters reports whether a list must be filtered with May, because the caller has a right for
// some models only.
func (s *Session) Filters(a policy.Action) bool {
	if s.guard == nil {
		return false
	}
	p := s.guard.rules.Load().policy
	return p != nil && !p.AllowsAll(s.who, a)
}

// Principal returns the caller's name; empty without a guard.
func (s *Session) Principal() string {
	if s.who == nil {
		return ""
	}
	return s.who.Name
}

// Account returns the name under which what the caller holds is counted, that of all who prove nothing
// being one; empty if callers are not told apart.
func (s *Session) Account() string {
	if !s.apart {
		return ""
	}
	return s.who.Name
}

// Close ends the audit log and the loading of keys. No call may be in flight.
func (g *Guard) Close() error {
	if g == nil {
		return nil
	}
	if g.tokens != nil {
		g.tokens.Close()
	}
	if g.audit == nil {
		return nil
	}
	return g.audit.Close()
}
