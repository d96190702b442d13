package ratelimit_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/status"
	"triton/server/ratelimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func one(priority uint32, needs ...ratelimit.Need) []ratelimit.Instance {
	return []ratelimit.Instance{{Needs: needs, Priority: priority}}
}

func need(name string, n uint64) ratelimit.Need { return ratelimit.Need{Name: name, Count: n} }

func shared(name string, n uint64) ratelimit.Need {
	return ratelimit.Need{Name: name, Count: n, Global: true}
}

// TestAdd has the answers of NVIDIA's server to the same models and flags.
func TestAdd(t *testing.T) {
	t.Parallel()
	limited := func(name, have, want string) string {
		return `Resource count for "` + name + `" is limited to ` + have +
			" which will prevent scheduling of one or more model instances, the minimum required count is " + want
	}
	twofold := func(name string) string {
		return `Resource "` + name + `" is present as both global and device-specific resource in the model configuration.`
	}
	type given = []ratelimit.Resource
	all := ratelimit.AllDevices
	m1, m2, m3 := one(1, need("R1", 4)), one(2, need("R1", 2), shared("R2", 2)), one(1, need("R2", 1))
	for name, test := range map[string]struct {
		given  given
		models [][]ratelimit.Instance
		errs   []string // of each; empty: it loads
	}{
		"what the loaded ones need":   {nil, [][]ratelimit.Instance{m1, m2, m3}, []string{"", "", twofold("R2")}},
		"both scopes in one instance": {nil, [][]ratelimit.Instance{one(1, need("R8", 4), shared("R8", 2))}, []string{twofold("R8")}},
		"both scopes in one model": {nil, [][]ratelimit.Instance{{
			{Needs: []ratelimit.Need{need("R8", 4)}}, {Device: 1, Needs: []ratelimit.Need{shared("R8", 4)}},
		}}, []string{twofold("R8")}},
		"too little": {
			given{{"R1", 3, all}, {"R2", 2, all}},
			[][]ratelimit.Instance{m1, m2, m3},
			[]string{limited("R1", "3", "4"), "", twofold("R2")},
		},
		"not given": {
			given{{"R1", 3, all}},
			[][]ratelimit.Instance{one(1, need("R9", 4), need("R9", 2)), one(1, need("r1", 4)), one(1, need("R7", 0))},
			[]string{limited("R9", "0", "2"), limited("r1", "0", "4"), ""},
		},
		"for another device": {given{{"R1", 10, 10}}, [][]ratelimit.Instance{m1, m2}, []string{limited("R1", "0", "4"), limited("R2", "0", "2")}},
		"the larger counts": {
			given{{"R1", 3, all}, {"R1", 6, 0}, {"R2", 1, 7}},
			[][]ratelimit.Instance{m1, m2, m3},
			[]string{"", limited("R2", "1", "2"), limited("R2", "0", "1")},
		},
		"by device": {
			given{{"R1", 1, all}, {"R1", 6, 1}},
			[][]ratelimit.Instance{{{Device: 1, Needs: []ratelimit.Need{need("R1", 6)}}}, m1},
			[]string{"", limited("R1", "1", "4")},
		},
		"a name that is empty": {nil, [][]ratelimit.Instance{one(1, need("", 2))}, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := ratelimit.New(test.given)
			for i, m := range test.models {
				_, err := l.Add(m)
				if test.errs[i] == "" {
					require.NoError(t, err)
					continue
				}
				require.EqualError(t, err, test.errs[i])
				require.Equal(t, status.InvalidArg, status.CodeOf(err))
			}
		})
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	l := ratelimit.New([]ratelimit.Resource{{"R1", 5, ratelimit.AllDevices}, {"R2", 2, ratelimit.AllDevices}, {"R1", 3, 0}})
	require.Equal(t, "\nMax Resource Map===>\n", l.String())
	_, err := l.Add(one(2, need("R1", 2), shared("R2", 2)))
	require.NoError(t, err)
	require.Equal(t, "\nMax Resource Map===>\n\tDevice: GLOBAL\n\t\tResource: R2\t Count: 2\n\tDevice: 0\n\t\tResource: R1\t Count: 5\n", l.String())
}

func TestWhatDidNotLoadNeedsNothing(t *testing.T) {
	t.Parallel()
	l := ratelimit.New(nil)
	_, err := l.Add(one(1, need("R", 4), shared("S", 1), need("S", 1)))
	require.Error(t, err)
	g, err := l.Add(one(1, shared("R", 1)))
	require.NoError(t, err, "no instance has R for its device")
	g.Close()
	_, err = l.Add(one(1, need("R", 1)))
	require.NoError(t, err, "nor has any the global one, any more")
}
