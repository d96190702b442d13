package repository

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/readiness"
)

// TestReadyOnDemand: a model that a request would load does not make the server unready, or no request
// would come; Ready and the report agree.
func TestReadyOnDemand(t *testing.T) {
	t.Parallel()
	fails := `parameters { key: "fail_load" value { string_value: "1" } }`
	for _, test := range []struct {
		policy        string
		ready, failed string // the reasons before any request, and after the failed load of b
	}{
		{"strict", "", ""},
		{"any", "", ""},
		{"required:a", "", ""},
		{"required:b", "", "required: model 'b' version 1 is UNAVAILABLE: Internal: no luck"},
		{"required:none", "required model 'none' is not loaded", "required model 'none' is not loaded"},
		{"required:a:2", "required model 'a:2' is not loaded", "required model 'a:2' is not loaded"},
	} {
		p, err := readiness.Parse(test.policy)
		require.NoError(t, err)
		var loads sync.Map
		r, _, err := open(t, onDemand(&loads, func(o *Options) { o.Readiness = p }), demandTree(t, map[string]string{"a": "", "b": fails}))
		require.NoError(t, err)
		check := func(want string) {
			t.Helper()
			report := r.Readiness()
			var reasons []string
			if want != "" {
				reasons = []string{want}
			}
			require.Equal(t, reasons, report.Reasons, test.policy)
			require.Equal(t, want == "", report.Ready)
			require.Equal(t, want == "", r.Ready())
		}
		check(test.ready)
		require.Error(t, request(t, r, "b"))
		check(test.failed)
	}
}

// TestNotReadyOnDemand: pinned models count with the policies for all models, and "any" fails when
// nothing can be loaded.
func TestNotReadyOnDemand(t *testing.T) {
	t.Parallel()
	fails := `parameters { key: "fail_load" value { string_value: "1" } }`
	for _, policy := range []readiness.Policy{{Mode: readiness.Triton}, {Mode: readiness.Strict}, {Mode: readiness.Any}} {
		var loads sync.Map
		r, _, err := open(t, onDemand(&loads, func(o *Options) {
			o.Readiness, o.StrictReadiness = policy, true
			o.Demand.Pinned = []string{"b"}
		}), demandTree(t, map[string]string{"b": fails}))
		require.ErrorIs(t, err, ErrLoad)
		require.Error(t, request(t, r, "b"))
		require.False(t, r.Ready(), policy.String())
		require.False(t, r.Readiness().Ready, policy.String())
	}
}
