package modelconfig

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string in either kind of quotes.
func (s *jsonScanner) str() (string, error) {
	quote, at := s.src[s.at], s.pos()
	s.at++
	var b strings.Builder
	for s.at < len(s.src) {
		c := s.src[s.at]
		s.at++
		switch c {
		case quote:
			if text := b.String(); utf8.ValidString(text) {
				return text, nil
			}
			return "", &JSONError{Pos: at, Msg: "Encountered non UTF-8 code points."}
		case '\\':
			if err := s.escape(&b); err != nil {
				return "", err
			}
		case '\n':
			s.line++
			s.begin = s.at
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return "", &JSONError{Pos: at, Msg: "Closing quote expected in string."}
}

func (s *jsonScanner) escape(b *strings.Builder) error {
	if s.at >= len(s.src) {
		return s.fail("Closing quote expected in string.")
	}
	c := s.src[s.at]
	s.at++
	switch c {
	case 'b', 'f', 'n', 'r', 't', 'v':
		b.WriteByte("\b\f\n\r\t\v"[strings.IndexByte("bfnrtv", c)])
	case 'u':
		r, err := s.unit()
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) {
			if !strings.HasPrefix(s.src[s.at:], `\u`) {
				return s.fail("Missing low surrogate.")
			}
			s.at += 2
			low, err := s.unit()
			if err != nil {
				return err
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return s.fail("Invalid low surrogate.")
			}
		}
		b.WriteRune(r)
	default:
		b.WriteByte(c)
	}
	return nil
}

// unit reads the four digits of an escape.
func (s *jsonScanner) unit() (rune, error) {
	var r rune
	for range 4 {
		if s.at >= len(s.src) {
			return 0, s.fail("Illegal hex string.")
		}
		d := strings.IndexByte("0123456789abcdef", s.src[s.at]|0x20)
		if d < 0 || s.src[s.at] < '0' {
			return 0, s.fail("Invalid escape sequence.")
		}
		r = r<<4 | rune(d)
		s.at++
	}
	return r, nil
}
