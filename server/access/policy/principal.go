package policy

import "sync/atomic"

// Principal is a caller whose identity is proven, or anybody.
type Principal struct {
	// Name is the principal in logs, such as "key:alice", "jwt:build-7",
	// "spiffe://example.org/web", "cert:web", "uid:1000" or "anonymous". The part before the
	// colon says what has proven it, so that a token cannot claim the name of a key.
	Name string
	// Also are its other names and the groups that its proof lists.
	Also []string
	// granted caches what a policy grants.
	granted atomic.Pointer[granted]
}

// Anonymous is a caller without proof.
const Anonymous = "anonymous"

// NewPrincipal returns a principal.
func NewPrincipal(name string, also ...string) *Principal { return &Principal{Name: name, Also: also} }

// names calls visit with all names until it returns true, and reports whether it did.
func (p *Principal) names(visit func(string) bool) bool {
	if visit(p.Name) {
		return true
	}
	for _, n := range p.Also {
		if visit(n) {
			return true
		}
	}
	return false
}
