package access

import (
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
)

// kind is a kind of refusal.
type kind uint8

const (
	unauthenticated kind = iota
	denied
	delayed
	limited
	unrecorded
	elsewhere
)

var kinds = [...]struct {
	result string // in the audit log and in metrics
	http   int
	grpc   codes.Code
}{
	unauthenticated: {"unauthenticated", http.StatusUnauthorized, codes.Unauthenticated},
	denied:          {"denied", http.StatusForbidden, codes.PermissionDenied},
	delayed:         {"delayed", http.StatusTooManyRequests, codes.ResourceExhausted},
	limited:         {"limited", http.StatusTooManyRequests, codes.ResourceExhausted},
	unrecorded:      {"unrecorded", http.StatusServiceUnavailable, codes.Unavailable},
	elsewhere:       {"denied", http.StatusForbidden, codes.PermissionDenied},
}

// Elsewhere refuses a call at a port that does not serve it.
var Elsewhere = &Refusal{kind: elsewhere, Msg: "this call is served at the control port only"}

// Refusal is why a call is refused. Its text says neither which models exist nor what the
// credentials were.
type Refusal struct {
	kind  kind
	wrong bool // there were credentials
	Msg   string
	// RetryAfter is how long the caller has to wait; 0 for refusals that stay.
	RetryAfter time.Duration
	// RateLimit is what is used up, and RateLimitPolicy the quotas, as in the header fields of these
	// names; empty: there are none.
	RateLimit, RateLimitPolicy string
}

// Error returns the text for clients.
func (r *Refusal) Error() string { return r.Msg }

// HTTP returns the HTTP status.
func (r *Refusal) HTTP() int { return kinds[r.kind].http }

// GRPC returns the gRPC status code.
func (r *Refusal) GRPC() codes.Code { return kinds[r.kind].grpc }

// Header returns the header of an HTTP reply that says what to do; an empty name is none.
func (r *Refusal) Header() (name, value string) {
	switch {
	case r.kind == unauthenticated && r.wrong:
		return "WWW-Authenticate", `Bearer realm="triton", error="invalid_token"`
	case r.kind == unauthenticated:
		return "WWW-Authenticate", `Bearer realm="triton"`
	case r.RetryAfter > 0:
		return "Retry-After", strconv.Itoa(int((r.RetryAfter + time.Second - 1) / time.Second))
	}
	return "", ""
}
