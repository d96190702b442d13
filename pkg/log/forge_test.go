package log

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// forged are values that clients can choose, such as the id of a request.
var forged = []string{
	`x status=200 gone=false`, `status=200`, `a" status=200 b="`, `a\" status=200`, "a\nI1122 00:00:00.000000 1 x.go:1] \"forged\"",
	"a\r\tb", "\x00\x1f\x7f", "\u0085\u2028\u00a0", "bad \xff utf8", `{"status":200}`, `","status":200,"x":"`, "",
}

// A value is one field, whatever its text: decoding the JSON returns it unchanged.
func TestJSONFieldsCannotBeForged(t *testing.T) {
	t.Parallel()
	s := DefaultSettings()
	s.Format = JSON
	k, out, _ := open(t, s)
	for _, id := range forged {
		out.Reset()
		k.Logger().Info("HTTP request", "id", id, "peer", "p")
		require.Equal(t, 1, strings.Count(out.String(), "\n"), "%q", out)
		fields := map[string]any{}
		require.NoError(t, json.Unmarshal(out.Bytes(), &fields), out.String())
		for _, ours := range []string{"time", "pid", "source"} {
			require.Contains(t, fields, ours)
			delete(fields, ours)
		}
		require.Equal(t, map[string]any{
			"level": "INFO", "msg": "HTTP request", "id": strings.ToValidUTF8(id, "�"), "peer": "p",
		}, fields)
	}
}

// The text formats quote a value that could be taken for more than one.
func TestTextFieldsCannotBeForged(t *testing.T) {
	t.Parallel()
	for _, raw := range []bool{false, true} {
		s := DefaultSettings()
		s.Raw = raw
		k, out, _ := open(t, s)
		for _, id := range forged {
			out.Reset()
			k.Logger().Info("HTTP request", "id", id, "peer", "p")
			_, line, ok := strings.Cut(out.String(), "] ")
			require.True(t, ok)
			line, ok = strings.CutSuffix(line, "\n")
			require.True(t, ok)
			require.NotContains(t, line, "\n")
			if !raw {
				var text string
				require.NoError(t, json.Unmarshal([]byte(line), &text), line)
				line = text
			}
			fields, ok := strings.CutPrefix(line, "HTTP request ")
			require.True(t, ok, line)
			require.Equal(t, []string{"id", id, "peer", "p"}, parseFields(t, fields))
		}
	}
}

// parseFields reads key=value pairs, as a reader of the log does that knows
// only that a value in quotes is a Go string.
func parseFields(t *testing.T, s string) (pairs []string) {
	t.Helper()
	for s != "" {
		key, rest, ok := strings.Cut(s, "=")
		require.True(t, ok, s)
		var value string
		if strings.HasPrefix(rest, `"`) {
			quoted, err := quotedPrefix(rest)
			require.NoError(t, err, s)
			value, rest = quoted.value, rest[quoted.length:]
		} else {
			value, _, _ = strings.Cut(rest, " ")
			rest = rest[len(value):]
			require.Equal(t, -1, strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r == '"' || r == '=' }), s)
		}
		pairs = append(pairs, key, value)
		s = strings.TrimPrefix(rest, " ")
	}
	return pairs
}

// A line without attributes, as all of Triton's own are, ends with its message.
func TestTritonsLinesAreUnchanged(t *testing.T) {
	t.Parallel()
	k, out, _ := open(t, DefaultSettings())
	k.Logger().Info("loading: a=\"b c\":1\n")
	require.Regexp(t, `^I\d{4} \S+ \d+ forge_test\.go:\d+\] "loading: a=\\"b c\\":1\\n"\n$`, out.String())
}

type spoken struct{}

func (spoken) LogValue() slog.Value { return slog.StringValue("spoken for") }

func TestKindsOfValues(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	args := []any{
		"s", "plain", "é", "é", "n", -3, "u", uint64(math.MaxUint64), "f", 0.5, "b", true, "d", 1500 * time.Millisecond,
		"t", at, "err", errors.New("it broke"), "v",
		spoken{},
		slog.Group("g", "x", 1, slog.Group("h", "y", "z")), "two words", 2,
	}
	k, out, _ := open(t, DefaultSettings())
	k.Logger().With("w", 1).WithGroup("in").With("w", 2).Info("m", args...)
	_, line, _ := strings.Cut(out.String(), "] ")
	var text string
	require.NoError(t, json.Unmarshal([]byte(line), &text))
	require.Equal(t, `m w=1 in.w=2 in.s=plain in.é=é in.n=-3 in.u=18446744073709551615 in.f=0.5 in.b=true in.d=1.5s `+
		`in.t="2026-01-02 03:04:05.000000006 +0000 UTC" in.err="it broke" in.v="spoken for" in.g.x=1 in.g.h.y=z "in.two words"=2`, text)

	s := DefaultSettings()
	s.Format = JSON
	require.NoError(t, k.Set(s))
	out.Reset()
	k.Logger().With("w", 1).WithGroup("in").With("w", 2).Info("m", args...)
	_, line, _ = strings.Cut(out.String(), `"msg":"m",`)
	require.Equal(t, `"w":1,"in":{"w":2,"s":"plain","é":"é","n":-3,"u":18446744073709551615,"f":0.5,"b":true,"d":1500000000,`+
		`"t":"2026-01-02T03:04:05.000000006Z","err":"it broke","v":"spoken for","g":{"x":1,"h":{"y":"z"}},"two words":2}}`+"\n", line)
}

// The fields of a line are each there once, and levels keep their names.
func TestJSONNames(t *testing.T) {
	t.Parallel()
	s := DefaultSettings()
	s.Format, s.Verbose = JSON, 2
	k, out, errs := open(t, s)
	for _, c := range []struct {
		level slog.Level
		name  string
	}{{Verbose(2), "VERBOSE"}, {Verbose(1), "VERBOSE"}, {slog.LevelInfo, "INFO"}, {slog.LevelWarn, "WARNING"}, {slog.LevelError, "ERROR"}} {
		out.Reset()
		errs.Reset()
		k.Logger().Log(t.Context(), c.level, "a\n")
		require.Regexp(t, `^\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z","level":"`+c.name+`","pid":\d+,"source":"forge_test.go:\d+","msg":"a\\n"\}\n$`,
			out.String()+errs.String())
		require.Equal(t, c.level >= slog.LevelWarn, out.Len() == 0)
	}
	out.Reset()
	Table(t.Context(), k.Logger(), "heading", "+--+\n| <b> |\n")
	require.Regexp(t, `"msg":"heading","table":"\+--\+\\n\| <b> \|\\n"\}\n$`, out.String())
}

type quotedText struct {
	value  string
	length int
}

func quotedPrefix(s string) (quotedText, error) {
	q, err := strconv.QuotedPrefix(s)
	if err != nil {
		return quotedText{}, err
	}
	v, err := strconv.Unquote(q)
	return quotedText{v, len(q)}, err
}
