// Package tensortest provides a pool that refuses memory when a test wants it, and a region of shared memory. It is for
// tests only.
package tensortest

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"triton/pkg/tensor"
)

// ErrRefused is the error of a pool that refuses memory because a test wants it.
var ErrRefused = errors.New("the test refuses memory")

// Rule reports whether a request for n bytes is refused. It is safe for
// concurrent use.
type Rule func(n int) bool

// Nth refuses the n-th request, counted from 1, and no other.
func Nth(n int64) Rule {
	var count atomic.Int64
	return func(int) bool { return count.Add(1) == n }
}

// Sometimes refuses a fraction of the requests, chosen by a generator with this seed.
func Sometimes(seed uint64, share float64) Rule {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not for secrets
	return func(int) bool {
		mu.Lock()
		defer mu.Unlock()
		return rng.Float64() < share
	}
}

// Above refuses requests for more than limit bytes.
func Above(limit int) Rule { return func(n int) bool { return n > limit } }

// Memory is a pool that refuses memory by a rule. The test may change the rule.
type Memory struct {
	*tensor.Pool
	rule    atomic.Pointer[Rule]
	refused atomic.Int64
}

// New makes a pool over a source, nil for private memory, that refuses nothing.
func New(source tensor.Source) *Memory {
	m := &Memory{}
	m.Pool = tensor.NewPoolOf(tensor.PoolOptions{Source: source, Refuse: m.refuse})
	return m
}

// Refuse sets the rule; nil ends it.
func (m *Memory) Refuse(r Rule) {
	if r == nil {
		m.rule.Store(nil)
		return
	}
	m.rule.Store(&r)
}

// Refused returns how many requests were refused.
func (m *Memory) Refused() int64 { return m.refused.Load() }

func (m *Memory) refuse(n int) error {
	if r := m.rule.Load(); r != nil && (*r)(n) {
		m.refused.Add(1)
		return ErrRefused
	}
	return nil
}
