package spelling

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"serve", "perf", "http-port", "grpc-port", "max_batch_size"}
	for name, want := range map[string]string{
		"sevre": "serve", "prf": "perf", "htp-port": "http-port", "max_batchsize": "max_batch_size", "port": "",
		"x": "", "": "", "server": "serve", "grcp-prt": "grpc-port", strings.Repeat("x", maxLen+1): "",
	} {
		got, ok := Nearest(name, names)
		require.Equal(t, want, got, name)
		require.Equal(t, want != "", ok, name)
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	require.Equal(t, `did you mean "perf"?`, Hint("pref", []string{"serve", "perf"}, "use one of them"))
	require.Equal(t, "use one of them", Hint("x", []string{"serve", "perf"}, "use one of them"))
	require.Equal(t, "use one of them", Hint("perf", []string{"perf"}, "use one of them"), "it is known")
}

func TestWithin(t *testing.T) {
	t.Parallel()
	names := []string{"tables", "table", "tap"}
	got, ok := Within(2, "tabe", names)
	require.True(t, ok)
	require.Equal(t, "table", got, "the nearest, not the first")
	_, ok = Within(1, "tabel", names)
	require.True(t, ok, "a transposition of two letters is one edit")
	_, ok = Within(0, "tabe", names)
	require.False(t, ok)
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abcd", "acbd", 1}, {"ca", "abc", 3}} {
		require.Equal(t, c.want, distance(c.a, c.b), "%s %s", c.a, c.b)
	}
}
