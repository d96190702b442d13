// What access decides about HTTP requests, for all frontends that have them.

package httpapi

import (
	"triton/pkg/tritonjson"
	"triton/server/access"
	"triton/server/http1"
)

// callerOf returns what a request says about its caller.
func callerOf(x *http1.Exchange) access.Caller {
	c := access.Caller{Protocol: "http", Authorization: x.Get("authorization"), Key: x.Get("x-api-key")}
	if conn := x.Conn(); conn != nil {
		c.Peer = access.PrincipalOf(conn)
		if conn.RemoteAddr().Network() != "unix" {
			c.Address = x.RemoteAddr()
		}
		return c
	}
	c.Address = x.RemoteAddr()
	if state := x.TLS(); state != nil {
		c.Peer = access.PrincipalOfTLS(state)
	}
	return c
}

// Admit decides about a request, and completes the call with what the request says. A refusal is the
// reply already, which the caller sends. A nil guard admits everything.
func Admit(g *access.Guard, x *http1.Exchange, c *access.Call) (s access.Session, e access.Entry, ok bool) {
	if g == nil {
		return s, e, true
	}
	c.Method, c.Bytes = x.Method+" "+x.Path, max(x.Length, 0)
	s, refusal := g.Begin(x.Context, callerOf(x), c)
	if refusal == nil {
		e, refusal = s.Admit(x.Context, c)
	}
	if refusal != nil {
		refuse(x, refusal)
		return s, e, false
	}
	return s, e, true
}

// Check decides about a request that another frontend admits later. A refusal is the reply
// already, which the caller sends. A nil guard has none.
func Check(g *access.Guard, x *http1.Exchange, c access.Call) bool {
	if g == nil {
		return true
	}
	c.Method = x.Method + " " + x.Path
	_, refusal := g.Begin(x.Context, callerOf(x), &c)
	if refusal != nil {
		refuse(x, refusal)
	}
	return refusal == nil
}

// refuse makes the reply a refusal.
func refuse(x *http1.Exchange, r *access.Refusal) {
	if name, value := r.Header(); name != "" {
		x.Extra = append(x.Extra, http1.Field{Name: name, Value: value})
	}
	addRateLimit(x, r.RateLimit, r.RateLimitPolicy)
	x.Status, x.ContentType = r.HTTP(), http1.JSON
	x.Text = append(tritonjson.AppendString(append(x.Text[:0], `{"error":`...), r.Msg), '}')
}

// addRateLimit adds the header fields RateLimit and RateLimit-Policy to a reply, unless they are empty.
func addRateLimit(x *http1.Exchange, state, quotas string) {
	if quotas != "" {
		x.Extra = append(x.Extra, http1.Field{Name: "RateLimit-Policy", Value: quotas}, http1.Field{Name: "RateLimit", Value: state})
	}
}
