package flags

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
)

// text is a flag's value that collects what it is set to.
type text struct{ to *[]string }

func (v text) String() string     { return "" }
func (v text) Type() string       { return "text" }
func (v text) Set(s string) error { *v.to = append(*v.to, s); return nil }

func newSet(environ string, got *[]string) *Set {
	s := New(process.Process{Environ: strings.Fields(environ)}, "serve", pflag.NewFlagSet("serve", pflag.ContinueOnError))
	s.Abbreviate()
	s.Group("One")
	s.Add(text{got}, "http-port", "", "")
	s.Add(text{got}, "http-rate", "", "")
	s.Add(text{got}, "http-ready", "", "")
	s.Add(text{got}, "config", "", "")
	s.Add(text{got}, "", "m", "")
	s.MarkOwn("http-ready", "config")
	s.Group("")
	s.Add(text{got}, "old", "", "")
	return s
}

func TestMatches(t *testing.T) {
	t.Parallel()
	s := newSet("", new([]string))
	for prefix, want := range map[string][]string{
		"http-port": {"http-port"},
		"http-p":    {"http-port"},
		"http-r":    {"http-rate"}, // our own is none of Triton's abbreviations
		"http-re":   {"http-ready"},
		"http":      {"http-port", "http-rate"},
		"-m":        nil,
		"x":         nil,
	} {
		require.Equal(t, want, s.Matches(prefix), prefix)
	}
	require.NoError(t, s.Parse([]string{"--http-p", "1"}))
	require.True(t, s.Changed("http-port"))
}

func TestSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "flags.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	var got []string
	write("http-rate: 5\nhttp-port: [6, 7]\nhttp-ready: 8\n")
	s := newSet("TRITON_HTTP_RATE=2 TRITON_SERVE_HTTP_RATE=3 TRITON_M=4 TRITON_OLD=4 TRITON_CONFIG=/x", &got)
	require.NoError(t, s.Parse([]string{"--http-ready", "1"}))
	require.NoError(t, s.Fill(file))
	require.ElementsMatch(t, []string{"1", "3", "6", "7"}, got)

	for key, hint := range map[string]string{
		"old": "", "m": "", "config": "",
		"htp-port": `; did you mean "http-port"?`,
		"http-p":   `; did you mean "http-port"?`,
		"http-re":  `; did you mean "http-ready"?`,
		"http":     "", // ambiguous
	} {
		write(key + ": 1\n")
		require.EqualError(t, newSet("", &got).Fill(file), file+`: unknown setting "`+key+`"`+hint)
	}
}

func TestClosest(t *testing.T) {
	t.Parallel()
	names := []string{"http-port", "grpc-port", "id"}
	require.Equal(t, "http-port", Closest("htp-port", names))
	require.Equal(t, "grpc-port", Closest("gprc-port", names))
	require.Empty(t, Closest("something-else", names))
}
