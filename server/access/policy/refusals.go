package policy

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"triton/server/infer"
)

// maxNames is the number of callers that are counted by name; others are counted together.
const maxNames = 100

// Refused is the number of requests that were refused for one reason.
type Refused struct {
	Principal string // "other" for those beyond the first 100
	Class     infer.Class
	Quota     Quota
	N         int64
}

// refusals counts them.
type refusals struct {
	mu    sync.Mutex
	names map[string]bool
	n     map[Refused]int64 // by the value with N = 0
}

func (c *refusals) count(a *account, q Quota) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.names, c.n = map[string]bool{}, map[Refused]int64{}
	}
	name := strings.ToValidUTF8(a.name, "?") // here, so that no two counts have the same labels
	switch {
	case c.names[name]:
	case len(c.names) < maxNames:
		c.names[name] = true
	default:
		name = others
	}
	c.n[Refused{Principal: name, Class: a.Class, Quota: q}]++
}

// Refused returns the counts since the start.
func (t *Accounts) Refused() []Refused {
	c := &t.refusals
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Refused, 0, len(c.n))
	for r, n := range c.n {
		r.N = n
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Refused) int {
		return cmp.Or(strings.Compare(a.Principal, b.Principal), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Quota, b.Quota))
	})
	return all
}
