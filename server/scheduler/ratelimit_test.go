package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/scheduler"
)

func one(priority uint32, needs ...scheduler.ResourceNeed) []scheduler.LimitedInstance {
	return []scheduler.LimitedInstance{{Needs: needs, Priority: priority}}
}

func need(name string, n uint64) scheduler.ResourceNeed {
	return scheduler.ResourceNeed{Name: name, Count: n}
}

func shared(name string, n uint64) scheduler.ResourceNeed {
	return scheduler.ResourceNeed{Name: name, Count: n, Global: true}
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
	type given = []scheduler.Resource
	all := scheduler.AllDevices
	m1, m2, m3 := one(1, need("R1", 4)), one(2, need("R1", 2), shared("R2", 2)), one(1, need("R2", 1))
	for name, test := range map[string]struct {
		given  given
		models [][]scheduler.LimitedInstance
		errs   []string // of each; empty: it loads
	}{
		"what the loaded ones need":   {nil, [][]scheduler.LimitedInstance{m1, m2, m3}, []string{"", "", twofold("R2")}},
		"both scopes in one instance": {nil, [][]scheduler.LimitedInstance{one(1, need("R8", 4), shared("R8", 2))}, []string{twofold("R8")}},
		"both scopes in one model": {nil, [][]scheduler.LimitedInstance{{
			{Needs: []scheduler.ResourceNeed{need("R8", 4)}}, {Device: 1, Needs: []scheduler.ResourceNeed{shared("R8", 4)}},
		}}, []string{twofold("R8")}},
		"too little": {
			given{{"R1", 3, all}, {"R2", 2, all}},
			[][]scheduler.LimitedInstance{m1, m2, m3},
			[]string{limited("R1", "3", "4"), "", twofold("R2")},
		},
		"not given": {
			given{{"R1", 3, all}},
			[][]scheduler.LimitedInstance{one(1, need("R9", 4), need("R9", 2)), one(1, need("r1", 4)), one(1, need("R7", 0))},
			[]string{limited("R9", "0", "2"), limited("r1", "0", "4"), ""},
		},
		"for another device": {given{{"R1", 10, 10}}, [][]scheduler.LimitedInstance{m1, m2}, []string{limited("R1", "0", "4"), limited("R2", "0", "2")}},
		"the larger counts": {
			given{{"R1", 3, all}, {"R1", 6, 0}, {"R2", 1, 7}},
			[][]scheduler.LimitedInstance{m1, m2, m3},
			[]string{"", limited("R2", "1", "2"), limited("R2", "0", "1")},
		},
		"by device": {
			given{{"R1", 1, all}, {"R1", 6, 1}},
			[][]scheduler.LimitedInstance{{{Device: 1, Needs: []scheduler.ResourceNeed{need("R1", 6)}}}, m1},
			[]string{"", limited("R1", "1", "4")},
		},
		"a name that is empty": {nil, [][]scheduler.LimitedInstance{one(1, need("", 2))}, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := scheduler.NewRateLimiter(test.given)
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
	l := scheduler.NewRateLimiter([]scheduler.Resource{{"R1", 5, scheduler.AllDevices}, {"R2", 2, scheduler.AllDevices}, {"R1", 3, 0}})
	require.Equal(t, "\nMax Resource Map===>\n", l.String())
	_, err := l.Add(one(2, need("R1", 2), shared("R2", 2)))
	require.NoError(t, err)
	require.Equal(t, "\nMax Resource Map===>\n\tDevice: GLOBAL\n\t\tResource: R2\t Count: 2\n\tDevice: 0\n\t\tResource: R1\t Count: 5\n", l.String())
}

func TestWhatDidNotLoadNeedsNothing(t *testing.T) {
	t.Parallel()
	l := scheduler.NewRateLimiter(nil)
	_, err := l.Add(one(1, need("R", 4), shared("S", 1), need("S", 1)))
	require.Error(t, err)
	g, err := l.Add(one(1, shared("R", 1)))
	require.NoError(t, err, "no instance has R for its device")
	g.Close()
	_, err = l.Add(one(1, need("R", 1)))
	require.NoError(t, err, "nor has any the global one, any more")
}
