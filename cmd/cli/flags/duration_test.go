package flags

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "500": 500 * time.Millisecond, "2.5": 2500 * time.Microsecond, "500ms": 500 * time.Millisecond,
		"5s": 5 * time.Second, "1m30s": 90 * time.Second, "-1": -time.Millisecond, "50us": 50 * time.Microsecond,
	} {
		got, err := ParseDuration(text, time.Millisecond)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "5 s", "fast", "NaN", "Inf", "1e300", "5d"} {
		_, err := ParseDuration(text, time.Millisecond)
		require.EqualError(t, err, `"`+text+`" is not a time such as 500ms, 5s or 1m30s`)
	}
}

func TestDurationFlag(t *testing.T) {
	t.Parallel()
	var d, none time.Duration
	set := pflag.NewFlagSet("x", pflag.ContinueOnError)
	set.Var(Duration(&d, time.Second, time.Millisecond), "interval", "")
	set.Var(Duration(&none, 0, time.Millisecond), "limit", "")
	require.Equal(t, "1s", set.Lookup("interval").DefValue)
	require.Equal(t, "0", set.Lookup("limit").DefValue)
	require.Equal(t, time.Second, d)
	require.NoError(t, set.Parse([]string{"--interval", "250"}))
	require.Equal(t, 250*time.Millisecond, d)
	require.Error(t, set.Parse([]string{"--interval", "x"}))
}
