package conformance

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unescape turns "\xNN" into a byte and "\\" into a backslash.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		switch rest := s[i+1:]; {
		case strings.HasPrefix(rest, `\`):
			b.WriteByte('\\')
			i++
		case len(rest) >= 3 && rest[0] == 'x':
			n, err := strconv.ParseUint(rest[1:3], 16, 8)
			if err != nil {
				return "", fmt.Errorf("no byte in %q", s[i:i+4])
			}
			b.WriteByte(byte(n))
			i += 3
		default:
			return "", fmt.Errorf(`a backslash is written as \\, a byte as \xNN: %q`, s)
		}
	}
	return b.String(), nil
}

// escape is the opposite of unescape. Line ends and text are unchanged.
func escape(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == utf8.RuneError && n == 1, r < ' ' && r != '\n', r == 0x7f:
			for _, c := range []byte(s[:n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
