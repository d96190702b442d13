package log

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T, s Settings) (k *Sink, out, err *bytes.Buffer) {
	t.Helper()
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	k, e := Open(s, out, err)
	require.NoError(t, e)
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	return k, out, err
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format Format
		want   string
	}{
		{Default, `^I\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ log_test\.go:\d+\] "loading: \\"m\\"\\n:1 k=v n=3 g\.x=true"\n$`},
		{ISO8601, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ I \d+ log_test\.go:\d+\] "loading: \\"m\\"\\n:1 k=v n=3 g\.x=true"\n$`},
		{JSON, `^\{"time":"[^"]+Z","level":"INFO","pid":\d+,"source":"log_test.go:\d+","msg":"loading: \\"m\\"\\n:1","k":"v","n":3,"g":\{"x":true\}\}\n$`},
	} {
		t.Run(c.format.String(), func(t *testing.T) {
			t.Parallel()
			s := DefaultSettings()
			s.Format = c.format
			k, out, errs := open(t, s)
			k.Logger().With("k", "v").Info("loading: \"m\"\n:1", "n", 3, slog.Group("g", "x", true))
			// Attributes of With come before those of the call.
			require.Regexp(t, regexp.MustCompile(c.want), out.String())
			require.Empty(t, errs.String())
		})
	}
}

func TestStreamsAndLevels(t *testing.T) {
	t.Parallel()
	k, out, errs := open(t, DefaultSettings())
	l := k.Logger()
	l.Info("info")
	l.Log(context.Background(), Verbose(1), "verbose")
	l.Warn("warn")
	l.Error("error")
	require.Contains(t, out.String(), `"info"`)
	require.NotContains(t, out.String(), "verbose")
	require.Regexp(t, `(?s)^W.*"warn"\nE.*"error"\n$`, errs.String())

	require.NoError(t, k.Set(Settings{Verbose: 2}))
	out.Reset()
	errs.Reset()
	l.Info("info")
	l.Error("error")
	l.Log(context.Background(), Verbose(2), "two")
	l.Log(context.Background(), Verbose(3), "three")
	require.Regexp(t, `^I.*"two"\n$`, out.String())
	require.Empty(t, errs.String())
}

func TestTable(t *testing.T) {
	t.Parallel()
	k, out, _ := open(t, DefaultSettings())
	Table(context.Background(), k.Logger(), "", "+--+\n| a \"b\" |\n+--+\n")
	require.Regexp(t, `^I.* log_test\.go:\d+\] \n\+--\+\n\| a "b" \|\n\+--\+\n\n$`, out.String())
}

func TestFile(t *testing.T) {
	t.Parallel()
	k, out, errs := open(t, DefaultSettings())
	s := k.Settings()
	s.File = filepath.Join(t.TempDir(), "log")
	require.NoError(t, k.Set(s))
	k.Logger().Error("to the file")
	k.Logger().Info("too")
	require.Error(t, k.Set(Settings{File: filepath.Join(s.File, "x")}))
	require.Equal(t, s, k.Settings())
	s.File = ""
	name := k.Settings().File
	require.NoError(t, k.Set(s))
	k.Logger().Info("to the console")
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(b), "\n"))
	require.Contains(t, out.String(), "to the console")
	require.Empty(t, errs.String())
}

// The line is one of Triton 2.51.
func TestMessageAsTriton(t *testing.T) {
	t.Parallel()
	k, out, _ := open(t, DefaultSettings())
	k.Logger().Info("a\x01\x1f\x7f\"\\\n\té\u2028/<b>\xff")
	_, message, _ := strings.Cut(out.String(), "] ")
	require.Equal(t, "\"a\\u0001\\u001F\x7f\\\"\\\\\\n\\té\u2028/<b>\uFFFD\"\n", message)
}

func TestRaw(t *testing.T) {
	t.Parallel()
	s := DefaultSettings()
	s.Raw = true
	k, out, _ := open(t, s)
	k.Logger().Info("a \"b\"\n\t", "k", "v")
	require.Regexp(t, `(?s)^I.* log_test\.go:\d+\] a "b"\n\t k=v\n$`, out.String())
	out.Reset()
	s.Format = JSON
	require.NoError(t, k.Set(s))
	k.Logger().Info("a\n")
	require.Contains(t, out.String(), `"msg":"a\n"}`)
}

// TestUpdate checks that an update starts from the current settings and that a
// failed one changes nothing.
func TestUpdate(t *testing.T) {
	t.Parallel()
	k, _, _ := open(t, DefaultSettings())
	require.NoError(t, k.Update(func(s *Settings) error { s.Info = false; return nil }))
	require.NoError(t, k.Update(func(s *Settings) error { s.Verbose = 3; return nil }))
	require.ErrorIs(t, k.Update(func(s *Settings) error { s.Error = false; return ErrFormat }), ErrFormat)
	require.Equal(t, Settings{Error: true, Warning: true, Verbose: 3}, k.Settings())
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	f, err := ParseFormat("ISO8601")
	require.NoError(t, err)
	require.Equal(t, ISO8601, f)
	_, err = ParseFormat("iso8601")
	require.EqualError(t, err, "invalid argument for --log-format")
}

func BenchmarkInfo(b *testing.B) {
	k, err := Open(DefaultSettings(), discard{}, discard{})
	require.NoError(b, err)
	l := k.Logger()
	b.ReportAllocs()
	for b.Loop() {
		l.Info("request", "model", "m")
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestReopen: after a rename the lines are in the new file; without a file, or without a way to open
// it, nothing changes.
func TestReopen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	s := DefaultSettings()
	s.File = file
	k, out, errs := open(t, s)
	k.Logger().Info("one")
	require.NoError(t, os.Rename(file, file+".1"))
	require.NoError(t, os.Mkdir(file, 0o700))
	require.ErrorContains(t, k.Reopen(), "log file: ")
	k.Logger().Info("two")
	require.NoError(t, os.Remove(file))
	require.NoError(t, k.Reopen())
	k.Logger().Info("three")
	require.NoError(t, k.Reopen())
	k.Logger().Info("four")
	text := func(name string) string {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(b)
	}
	require.Regexp(t, `(?s)^[^\n]*"one"\n[^\n]*"two"\n$`, text(file+".1"))
	require.Regexp(t, `(?s)^[^\n]*"three"\n[^\n]*"four"\n$`, text(file))
	require.Empty(t, out.String()+errs.String())

	s.File = ""
	require.NoError(t, k.Set(s))
	require.NoError(t, k.Reopen())
	k.Logger().Info("five")
	require.Contains(t, out.String(), `"five"`)
}
