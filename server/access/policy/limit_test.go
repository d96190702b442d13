package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

const limited = `
groups:
  ci: ["key:ci-*"]
rules: []
limits:
  - who: ["key:alice"]
    models: ["big-*", "x:2"]
    requests_per_second: 0.5
    burst: 10s
  - who: ["group:ci"]
    concurrent_requests: 4
    rows_per_second: 1e3
    weight: 2
    class: batch
    shared: true
  - who: ["authenticated"]
    bytes_per_second: 1000000
    class: interactive
`

func TestLimit(t *testing.T) {
	t.Parallel()
	p, err := Parse([]byte(limited))
	require.NoError(t, err)
	require.True(t, p.Limits())
	alice, ci, anon := NewPrincipal("key:alice"), NewPrincipal("key:ci-7"), NewPrincipal(Anonymous)
	big := p.Limit(alice, "big-1", "")
	require.InDelta(t, 0.5, big.Requests, 0)
	require.Equal(t, 10*time.Second, big.Burst)
	require.Same(t, big, p.Limit(alice, "x", "2"))
	rest := p.Limit(alice, "x", "")
	require.InDelta(t, 1e6, rest.Bytes, 0, "the server may choose another version")
	require.Equal(t, infer.Interactive, rest.Class)
	require.Nil(t, p.Limit(alice, "", ""), "it depends on the model")
	batch := p.Limit(ci, "big-1", "")
	require.Same(t, batch, p.Limit(ci, "", ""))
	require.Equal(t, [...]any{4, 1e3, uint32(2), infer.Bulk, true, time.Second}, [...]any{batch.Concurrent, batch.Rows, batch.Weight, batch.Class, batch.Shared, batch.Burst})
	free := p.Limit(anon, "m", "")
	require.Equal(t, uint32(1), free.Weight)
	require.Zero(t, free.Requests)
	none, err := Parse([]byte("rules: []"))
	require.NoError(t, err)
	require.Nil(t, none.Limit(alice, "m", ""))
	again, err := Parse([]byte("# the same\n" + limited))
	require.NoError(t, err)
	require.Equal(t, big.Text, again.Limit(alice, "big-1", "").Text)
	require.NotEqual(t, big.Text, rest.Text)
}

func TestLimitMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"limits: 3":                                             "line 2: limits must be a list",
		"limits: []":                                            "line 2: limits is empty",
		"limits:\n- {who: ['*'], requests: 3}":                  `line 3: unknown key "requests": known are who, models, requests_per_second`,
		"limits:\n- {requests_per_second: 3}":                   "line 3: a limit needs who",
		"limits:\n- {who: ['*']}":                               "line 3: the limit limits nothing",
		"limits:\n- {who: ['*'], burst: 1s}":                    "line 3: burst belongs to a rate",
		"limits:\n- {who: ['*'], concurrent_requests: 0}":       `line 3: concurrent_requests is "0": it must be a number from 1 to 1048576`,
		"limits:\n- {who: ['*'], weight: 1001}":                 `line 3: weight is "1001": it must be a number from 1 to 1000`,
		"limits:\n- {who: ['*'], requests_per_second: 0}":       `line 3: requests_per_second is "0": it must be a number from 0.001 to 1e+12`,
		"limits:\n- {who: ['*'], rows_per_second: .nan}":        `rows_per_second is ".nan"`,
		"limits:\n- {who: ['*'], bytes_per_second: [1]}":        "bytes_per_second is",
		"limits:\n- {who: ['*'], rows_per_second: 1, burst: 5}": `line 3: burst is "5": it must be a time from 1ms to 1h0m0s`,
		"limits:\n- {who: ['*'], class: bulk}":                  `line 3: unknown class "bulk": known are interactive, standard and batch`,
		"limits:\n- {who: ['*'], weight: 2, shared: yes}":       `line 3: shared is "yes": it must be true or false`,
		"limits:\n- {who: [], weight: 2}":                       "line 3: who lists nobody",
		"limits:\n- {who: ['*'], weight: 2, models: []}":        "line 3: models lists no model",
		"limits:\n- {who: ['group:x'], weight: 2}":              `line 3: unknown group "x"`,
		"limits:\n- {who: [alice], weight: 2}":                  `line 3: unknown principal "alice"`,
		"limits:\n- {who: ['*'], weight: 2, weight: 3}":         `"weight" occurs twice`,
		"limits:\n- 3": "line 3: a limit must be a mapping",
	} {
		_, err := Parse([]byte("rules: []\n" + text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := Parse([]byte("rules: []\nlimits:\n- {who: ['*'], weight: 0}\n- {who: ['*'], class: x}\n"))
	require.Equal(t, 2, strings.Count(err.Error(), "line "), "all mistakes")
}

// FuzzLimits: whatever a file says, a policy without mistakes has limits that can be used.
func FuzzLimits(f *testing.F) {
	f.Add(rules)
	f.Add(limited)
	f.Add("rules: []\nlimits:\n- {who: ['*'], requests_per_second: 1e-3, burst: 1ms}\n")
	f.Add("limits: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for _, who := range []string{Anonymous, "key:alice", "key:ci-1"} {
			l := p.Limit(NewPrincipal(who), "m", "1")
			if p.Limits() != (l != nil) {
				t.Fatal("a policy with limits has one for everybody")
			}
			if l != nil && (l.Weight < 1 || l.Weight > maxWeight || l.Requests < 0 || l.Requests > maxRate || l.Burst < 0 || l.Burst > maxBurst) {
				t.Fatalf("%+v", l)
			}
		}
	})
}
