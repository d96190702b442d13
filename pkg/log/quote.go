package log

import (
	"log/slog"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// appendAttr appends an attribute in the text formats: a space and key=value.
func appendAttr(b []byte, group string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return b
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, g := range v.Group() {
			b = appendAttr(b, group, g)
		}
		return b
	}
	b = append(b, ' ')
	if group == "" {
		b = appendWord(b, a.Key)
	} else {
		b = appendWord(b, group+a.Key)
	}
	b = append(b, '=')
	switch v.Kind() {
	case slog.KindInt64:
		return strconv.AppendInt(b, v.Int64(), 10)
	case slog.KindUint64:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case slog.KindBool:
		return strconv.AppendBool(b, v.Bool())
	}
	return appendWord(b, v.String())
}

// appendWord appends s as it is, or as a quoted Go string when it is empty or
// holds anything that a reader could take for the end of the value or for
// another field: spaces, '=', quotes, control characters, invalid UTF-8.
func appendWord(b []byte, s string) []byte {
	if plain(s) {
		return append(b, s...)
	}
	return strconv.AppendQuote(b, s)
}

// plain reports whether s needs no quotes.
func plain(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c <= ' ' || c == '=' || c == '"' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return false
		}
		i += n
	}
	return s != ""
}
