package cli

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/ratelimit"
)

func TestRates(t *testing.T) {
	t.Parallel()
	require.Equal(t, server.Rates{}, parse(t, "--rate-limit=off", "").opts.Rates)
	require.Equal(t, server.Rates{Limit: true, Resources: []ratelimit.Resource{
		{Name: "R1", Count: 10, Device: ratelimit.AllDevices}, {Name: "R2", Count: 5, Device: 1}, {Name: "", Count: math.MaxUint64, Device: -3},
	}}, parse(t, "--rate-limit=EXECUTION_COUNT --rate-limit-resource R1:10 --rate-limit-resource=R2:5:1 --rate-limit-resource=:-1:-3", "").opts.Rates)
}
