package policy_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/server/access/policy"
	"triton/server/infer"
)

// clock is a clock that tests set.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) add(d time.Duration) { c.now = c.now.Add(d) }

func (c *clock) read() time.Time { return c.now }

// table returns a table with the limits of a file, and a function that finds the limit of a caller.
func table(t testing.TB, c *clock, limits string) (*policy.Accounts, *policy.Policy) {
	t.Helper()
	p, err := policy.Parse([]byte("rules: []\nlimits:\n" + limits))
	require.NoError(t, err)
	q := policy.NewAccounts(c.read)
	q.Use(p)
	return q, p
}

func TestRequestsPerSecond(t *testing.T) {
	t.Parallel()
	c := newClock()
	q, p := table(t, c, "- {who: ['*'], requests_per_second: 10, burst: 500ms}")
	a, b := policy.NewPrincipal("key:a"), policy.NewPrincipal("key:b")
	take := func(who *policy.Principal) policy.Refusal {
		lease, r := q.Take(p.Limit(who, "m", ""), who, 0)
		lease.Release()
		return r
	}
	for range 5 { // the burst
		require.Zero(t, take(a))
	}
	r := take(a)
	require.Equal(t, policy.QuotaRequests, r.Quota)
	require.Equal(t, 100*time.Millisecond, r.Wait)
	require.Zero(t, take(b), "each caller has its own")
	c.add(r.Wait - 1)
	require.Equal(t, time.Duration(1), take(a).Wait)
	c.add(1)
	require.Zero(t, take(a), "after the wait")
	require.NotZero(t, take(a))
	c.add(time.Hour)
	n := 0
	for take(a).Quota == policy.QuotaNone {
		n++
	}
	require.Equal(t, 5, n, "nothing is saved up beyond the burst")
	require.Equal(t, []policy.Refused{{Principal: "key:a", Quota: policy.QuotaRequests, N: 4}}, q.Refused())
}

// TestRate: over a long time a caller that asks too often gets its rate and the burst, whatever the times.
func TestRate(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		c := newClock()
		rate := 1 + 200*rng.Float64()
		q, p := table(t, c, fmt.Sprintf("- {who: ['*'], requests_per_second: %g, rows_per_second: %g}", rate, 4*rate))
		who := policy.NewPrincipal("key:a")
		requests, rows, most := 0, 0, 0
		begin := c.now
		for c.now.Sub(begin) < time.Minute {
			c.add(time.Duration(rng.Int64N(int64(10 * time.Millisecond))))
			lease, r := q.Take(p.Limit(who, "m", ""), who, 0)
			if r.Quota != policy.QuotaNone {
				continue
			}
			n := 1 + rng.IntN(9)
			lease.Charge(n, 0)
			lease.Release()
			requests, rows, most = requests+1, rows+n, max(most, n)
		}
		took := c.now.Sub(begin).Seconds() + 1 // the burst is a second
		require.LessOrEqual(t, float64(requests), took*rate+1, "seed %d", seed)
		require.LessOrEqual(t, float64(rows), took*4*rate+float64(most), "seed %d", seed)
		if rate < 100 { // asked for more than that
			reached := max(float64(requests)/rate, float64(rows)/rate/4)
			require.Greater(t, reached, 58., "seed %d: %g per second", seed, rate)
		}
	}
}

// A request may cost more than there is: what it owes keeps the next ones out.
func TestDebt(t *testing.T) {
	t.Parallel()
	c := newClock()
	q, p := table(t, c, "- {who: ['*'], bytes_per_second: 1000, burst: 1s}")
	who := policy.NewPrincipal("key:a")
	l := p.Limit(who, "m", "")
	lease, r := q.Take(l, who, 5000)
	require.Zero(t, r)
	lease.Release()
	require.InDelta(t, 4*time.Second, q.Peek(l, who).Wait, 1e4, "five seconds' worth, of which one is the burst")
	c.add(4*time.Second + 1)
	lease, r = q.Take(l, who, 0)
	require.Zero(t, r)
	lease.Charge(1, 2000)
	_, r = q.Take(l, who, 0)
	require.Equal(t, policy.QuotaBytes, r.Quota)
	lease.Charge(1, 1<<62)
	for range 100 {
		lease.Charge(1, 1<<62)
	}
	_, r = q.Take(l, who, 0)
	require.LessOrEqual(t, r.Wait, 2*time.Hour, "no mistakes keep a caller out forever")
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	c := newClock()
	q, p := table(t, c, "- {who: ['key:*'], concurrent_requests: 2, shared: true}\n- {who: ['*'], weight: 3, class: batch}")
	a, b, other := policy.NewPrincipal("key:a"), policy.NewPrincipal("key:b"), policy.NewPrincipal("uid:1")
	first, r := q.Take(p.Limit(a, "m", ""), a, 0)
	require.Zero(t, r)
	second, r := q.Take(p.Limit(b, "m", ""), b, 0)
	require.Zero(t, r)
	require.Same(t, first.Caller(), second.Caller(), "they share the limit")
	_, r = q.Take(p.Limit(a, "m", ""), a, 0)
	require.Equal(t, policy.QuotaConcurrent, r.Quota)
	require.Positive(t, r.Wait)
	first.Release()
	_, r = q.Take(p.Limit(a, "m", ""), a, 0)
	require.Zero(t, r)
	third, r := q.Take(p.Limit(other, "m", ""), other, 0)
	require.Zero(t, r)
	require.Equal(t, infer.Caller{Weight: 3, Class: infer.Bulk}, *third.Caller())
	require.Equal(t, "key:*", q.Refused()[0].Principal)
	var none policy.Lease
	none.Charge(1, 1)
	none.Release()
	require.Nil(t, none.Caller())
}

// TestUse: a new policy keeps what callers have used of limits that have not changed.
func TestUse(t *testing.T) {
	t.Parallel()
	c := newClock()
	limits := "- {who: ['key:a'], requests_per_second: 1}\n- {who: ['*'], concurrent_requests: 1}\n"
	q, p := table(t, c, limits)
	a, b := policy.NewPrincipal("key:a"), policy.NewPrincipal("key:b")
	_, r := q.Take(p.Limit(a, "m", ""), a, 0)
	require.Zero(t, r)
	open, r := q.Take(p.Limit(b, "m", ""), b, 0)
	require.Zero(t, r)
	next, err := policy.Parse([]byte("rules: []\nlimits:\n- {who: ['key:c'], weight: 2}\n" + limits))
	require.NoError(t, err)
	q.Use(next)
	_, r = q.Take(next.Limit(a, "m", ""), a, 0)
	require.Equal(t, policy.QuotaRequests, r.Quota)
	_, r = q.Take(next.Limit(b, "m", ""), b, 0)
	require.Equal(t, policy.QuotaConcurrent, r.Quota)
	open.Release()
	_, r = q.Take(next.Limit(b, "m", ""), b, 0)
	require.Zero(t, r)
	changed, err := policy.Parse([]byte("rules: []\nlimits:\n- {who: ['*'], requests_per_second: 5}\n"))
	require.NoError(t, err)
	q.Use(changed)
	_, r = q.Take(changed.Limit(a, "m", ""), a, 0)
	require.Zero(t, r, "a changed limit begins anew")
	q.Use(nil)
	q.Use(policy.Authenticated())
}

// Callers that come once each are forgotten when that changes nothing. Those that are still there share
// an account when there are too many.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	c := newClock()
	q, p := table(t, c, "- {who: ['*'], requests_per_second: 1}")
	l := p.Limit(policy.NewPrincipal("key:x"), "m", "")
	take := func(i int) policy.Refusal {
		who := policy.NewPrincipal(fmt.Sprintf("jwt:%d", i))
		lease, r := q.Take(l, who, 0)
		lease.Release()
		return r
	}
	for i := range 10_000 {
		require.Zero(t, take(i))
		c.add(time.Second)
	}
	require.Less(t, q.Len(), 3000)
	refused := 0
	for i := range 70_000 {
		if take(i).Quota != policy.QuotaNone {
			refused++
		}
	}
	require.InDelta(t, 70_000-65_536, refused, 3000, "these share one")
	require.LessOrEqual(t, q.Len(), 65_537)
	require.LessOrEqual(t, len(q.Refused()), 101)
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	c := newClock()
	q, p := table(t, c, "- {who: ['*'], requests_per_second: 10, bytes_per_second: 100, rows_per_second: 5, concurrent_requests: 3, burst: 2s}")
	who := policy.NewPrincipal("key:a")
	l := p.Limit(who, "m", "")
	require.Equal(t, `"requests";q=20;w=2, "rows";q=10;w=2, "bytes";q=200;qu="content-bytes";w=2, "concurrent";q=3;qu="concurrent-requests"`,
		string(policy.AppendRateLimitPolicy(nil, l)))
	lease, _ := q.Take(l, who, 150)
	lease.Charge(2, 0)
	require.Equal(t, `x"requests";r=19;t=1, "rows";r=8;t=1, "bytes";r=50;t=2, "concurrent";r=2`, string(lease.AppendState([]byte("x"))))
	lease.Charge(100, 0)
	_, r := q.Take(l, who, 0)
	require.Equal(t, `"rows";r=0;t=19`, string(r.AppendUsedUp(nil)))
}

// A window in which not even one request is allowed would say that none ever is.
func TestPolicyOfLowRate(t *testing.T) {
	t.Parallel()
	_, p := table(t, newClock(), "- {who: ['*'], requests_per_second: 0.1, burst: 2s}")
	require.Equal(t, `"requests";q=1;w=10`, string(policy.AppendRateLimitPolicy(nil, p.Limit(policy.NewPrincipal("key:a"), "m", ""))))
}

// Refusals become rows of one metric: no two may have the same labels, in an order that stays.
func TestRefusedLabels(t *testing.T) {
	t.Parallel()
	q, p := table(t, newClock(), `
- {who: ['*'], models: [slow], class: batch, concurrent_requests: 1}
- {who: ['*'], models: [fast], class: interactive, concurrent_requests: 1}
- {who: ['*'], concurrent_requests: 1}
`)
	for _, name := range []string{"jwt:b\xff", "jwt:b\xfe", "jwt:a"} {
		who := policy.NewPrincipal(name)
		for _, model := range []string{"slow", "fast", "any"} {
			for range 2 {
				q.Take(p.Limit(who, model, ""), who, 0)
			}
		}
	}
	var want []policy.Refused
	for _, of := range []policy.Refused{{Principal: "jwt:a", N: 1}, {Principal: "jwt:b?", N: 2}} {
		for _, class := range []infer.Class{infer.Standard, infer.Interactive, infer.Bulk} {
			of.Class, of.Quota = class, policy.QuotaConcurrent
			want = append(want, of)
		}
	}
	require.Equal(t, want, q.Refused())
}

// TestRace lets callers ask, end and change the policy at the same time.
func TestRace(t *testing.T) {
	t.Parallel()
	q := policy.NewAccounts(time.Now)
	var policies []*policy.Policy
	for _, limits := range []string{"- {who: ['*'], concurrent_requests: 2, rows_per_second: 1e9}", "- {who: ['*'], concurrent_requests: 3}"} {
		p, err := policy.Parse([]byte("rules: []\nlimits:\n" + limits))
		require.NoError(t, err)
		policies = append(policies, p)
	}
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			who := policy.NewPrincipal(fmt.Sprintf("key:%d", i%2))
			for n := range 500 {
				if n%100 == 0 {
					q.Use(policies[n/100%2])
				}
				lease, r := q.Take(policies[n%2].Limit(who, "m", ""), who, 1)
				lease.Charge(3, 1)
				_ = lease.AppendState(nil)
				lease.Release()
				_ = r.AppendUsedUp(nil)
			}
		})
	}
	running.Wait()
	q.Use(policies[0])
	who := policy.NewPrincipal("key:0")
	for range 2 {
		_, r := q.Take(policies[0].Limit(who, "m", ""), who, 0)
		require.Zero(t, r, "all have ended")
	}
}

func BenchmarkTake(b *testing.B) {
	q, p := table(b, newClock(), "- {who: ['key:b'], weight: 2}\n- {who: ['*'], models: ['a-*'], weight: 2}\n"+
		"- {who: ['*'], requests_per_second: 1e12, rows_per_second: 1e12, bytes_per_second: 1e12, concurrent_requests: 10}")
	who := policy.NewPrincipal("key:a")
	b.ReportAllocs()
	for b.Loop() {
		lease, _ := q.Take(p.Limit(who, "resnet", ""), who, 1000)
		lease.Charge(8, 0)
		lease.Release()
	}
}

func TestAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("not with the race detector")
	}
	c := newClock()
	q, p := table(t, c, "- {who: ['*'], requests_per_second: 10, concurrent_requests: 100}")
	who := policy.NewPrincipal("key:a")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		c.add(time.Second)
		lease, _ := q.Take(p.Limit(who, "m", ""), who, 1000)
		lease.Charge(8, 0)
		lease.Release()
	}))
	l := p.Limit(who, "m", "")
	for i := 0; i < 20; i++ {
		q.Take(l, who, 0)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { q.Take(l, who, 0) }), "refusals")
}
