package modelconfig

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokIdent
	tokInt
	tokFloat
	tokString
	tokSymbol
)

// token is one lexical element. For strings, value is the text without quotes
// and with its escapes replaced.
type token struct {
	kind  tokenKind
	text  string // as written
	value string
	pos   Position
}

// scanner splits text format into tokens. The first mistake ends the input: err is set
// and every later token is the end.
type scanner struct {
	src       string
	off       int
	line      int
	lineStart int
	err       *SyntaxError
}

func newScanner(src []byte) scanner { return scanner{src: string(src), line: 1} }

func (s *scanner) here() Position { return Position{s.line, s.off - s.lineStart + 1} }

func (s *scanner) fail(at Position, msg, hint string) token {
	if s.err == nil {
		s.err = &SyntaxError{Pos: at, Msg: msg, Hint: hint}
	}
	s.off = len(s.src)
	return token{kind: tokEOF, pos: at}
}

func (s *scanner) skipSpace() {
	for s.off < len(s.src) {
		switch s.src[s.off] {
		case '\n':
			s.off++
			s.line++
			s.lineStart = s.off
		case ' ', '\t', '\r', '\v', '\f':
			s.off++
		case '#':
			if end := strings.IndexByte(s.src[s.off:], '\n'); end >= 0 {
				s.off += end
			} else {
				s.off = len(s.src)
			}
		default:
			return
		}
	}
}

func (s *scanner) next() token {
	s.skipSpace()
	at := s.here()
	if s.off >= len(s.src) {
		return token{kind: tokEOF, pos: at}
	}
	switch c := s.src[s.off]; {
	case isLetter(c):
		start := s.off
		for s.off < len(s.src) && (isLetter(s.src[s.off]) || isDigit(s.src[s.off])) {
			s.off++
		}
		return token{kind: tokIdent, text: s.src[start:s.off], pos: at}
	case isDigit(c), c == '.' && s.off+1 < len(s.src) && isDigit(s.src[s.off+1]):
		return s.number(at)
	case c == '"' || c == '\'':
		return s.quoted(at, c)
	case c == 0 || s.off == 0 && (strings.HasPrefix(s.src, "\xff\xfe") || strings.HasPrefix(s.src, "\xfe\xff")):
		return s.utf16(at)
	case c < ' ' || c == 0x7f:
		return s.fail(at, "Invalid control characters encountered in text.",
			fmt.Sprintf("remove the byte 0x%02x", c))
	case c >= utf8.RuneSelf:
		return s.nonASCII(at)
	default:
		s.off++
		return token{kind: tokSymbol, text: s.src[s.off-1 : s.off], pos: at}
	}
}

// utf16 reports a text that is not UTF-8: it begins with the byte order mark of UTF-16, or has a zero byte.
func (s *scanner) utf16(at Position) token {
	if s.src[s.off] == 0 {
		return s.fail(at, "Invalid control characters encountered in text.", hintUTF16)
	}
	return s.fail(at, fmt.Sprintf("Interpreting non ascii codepoint %d.", s.src[s.off]), hintUTF16)
}

// nonASCII reports a character that text format does not allow outside strings.
func (s *scanner) nonASCII(at Position) token {
	r, _ := utf8.DecodeRuneInString(s.src[s.off:])
	switch r {
	case '\ufeff':
		return s.fail(at, "Interpreting non ascii codepoint 239.", "save the file without a byte order mark")
	case '\u201c', '\u201d', '\u2018', '\u2019':
		return s.fail(at, fmt.Sprintf("Interpreting non ascii codepoint %d.", s.src[s.off]), "use straight quotes")
	}
	return s.fail(at, fmt.Sprintf("Interpreting non ascii codepoint %d.", s.src[s.off]),
		"put text other than ASCII into a quoted string or a comment")
}

func (s *scanner) number(at Position) token {
	start, kind := s.off, tokInt
	rest := s.src[s.off:]
	switch {
	case len(rest) > 1 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X'):
		s.off += 2
		s.span(isHex)
		if s.off == start+2 {
			return s.fail(at, `"0x" must be followed by hex digits.`, "write a number such as 0x10")
		}
	default:
		kind = s.decimal()
	}
	if s.err != nil {
		return token{kind: tokEOF, pos: at}
	}
	if s.off < len(s.src) && (isLetter(s.src[s.off]) || s.src[s.off] == '.') {
		return s.fail(s.here(), "Need space between number and identifier.", "write the number alone")
	}
	text := s.src[start:s.off]
	if kind == tokInt && len(text) > 1 && text[0] == '0' && isDigit(text[1]) && strings.ContainsAny(text, "89") {
		return s.fail(at, "Numbers starting with leading zero must be in octal.", "remove the leading zero")
	}
	return token{kind: kind, text: text, pos: at}
}

func (s *scanner) decimal() tokenKind {
	kind := tokInt
	s.span(isDigit)
	if s.off < len(s.src) && s.src[s.off] == '.' {
		kind = tokFloat
		s.off++
		s.span(isDigit)
	}
	if s.off < len(s.src) && (s.src[s.off] == 'e' || s.src[s.off] == 'E') {
		s.off++
		if s.off < len(s.src) && (s.src[s.off] == '+' || s.src[s.off] == '-') {
			s.off++
		}
		digits := s.off
		s.span(isDigit)
		if s.off == digits {
			s.fail(s.here(), `"e" must be followed by exponent.`, "write a number such as 1e3")
			return kind
		}
		kind = tokFloat
	}
	if s.off < len(s.src) && (s.src[s.off] == 'f' || s.src[s.off] == 'F') {
		kind = tokFloat
		s.off++
	}
	return kind
}

func (s *scanner) span(in func(byte) bool) {
	for s.off < len(s.src) && in(s.src[s.off]) {
		s.off++
	}
}

func (s *scanner) quoted(at Position, quote byte) token {
	start := s.off
	s.off++
	var b strings.Builder
	for s.off < len(s.src) {
		switch c := s.src[s.off]; c {
		case quote:
			s.off++
			return token{kind: tokString, text: s.src[start:s.off], value: b.String(), pos: at}
		case '\n':
			return s.fail(at, "String literals cannot cross line boundaries.", "close the string with "+string(quote))
		case '\\':
			esc := s.here()
			n := unescape(&b, s.src[s.off:])
			if n == 0 {
				return s.fail(esc, "Invalid escape sequence in string literal.", `write a backslash as \\`)
			}
			s.off += n
		default:
			b.WriteByte(c)
			s.off++
		}
	}
	return s.fail(at, "Unexpected end of string.", "close the string with "+string(quote))
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isOctal(c byte) bool  { return '0' <= c && c <= '7' }
func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
