package pbtxt

import "strings"

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokNumber
	tokString
	tokSymbol // one byte
)

// token is one word of the text with the comments before it.
type token struct {
	kind       tokenKind
	text       string
	start, end int
	line       int
	before     []comment
	blank      bool // a blank line is between the token, and the comment or token before it
}

// comment is a comment between two tokens.
type comment struct {
	Comment
	sameLine bool // as the token before
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// scan splits a text into tokens. The last one is of kind tokEnd.
func scan(src string) []token {
	s := scanner{src: src, line: 1}
	var all []token
	for {
		t := s.next()
		all = append(all, t)
		if t.kind == tokEnd {
			return all
		}
	}
}

type scanner struct {
	src       string
	off, line int
}

// space skips white space and comments. newlines counts those since the last token or comment.
func (s *scanner) space() (before []comment, blank bool) {
	newlines, first := 0, s.off == 0
	for s.off < len(s.src) {
		switch s.src[s.off] {
		case '\n':
			newlines++
			s.line++
			s.off++
		case ' ', '\t', '\r', '\v', '\f':
			s.off++
		case '#':
			start := s.off
			end := strings.IndexByte(s.src[start:], '\n')
			if end < 0 {
				end = len(s.src) - start
			}
			s.off = start + end
			c := Comment{Text: strings.TrimRight(s.src[start:s.off], " \t\r\v\f"), Start: start, Line: s.line, Blank: newlines > 1}
			before = append(before, comment{c, newlines == 0 && len(before) == 0 && !first})
			newlines = 0
		default:
			return before, newlines > 1
		}
	}
	return before, newlines > 1
}

func (s *scanner) next() token {
	t := token{}
	t.before, t.blank = s.space()
	t.start, t.line = s.off, s.line
	if s.off >= len(s.src) {
		t.end = s.off
		return t
	}
	switch c := s.src[s.off]; {
	case isLetter(c):
		t.kind = tokName
		s.span(func(c byte) bool { return isLetter(c) || isDigit(c) })
	case isDigit(c), c == '.' && s.off+1 < len(s.src) && isDigit(s.src[s.off+1]):
		t.kind = tokNumber
		s.number()
	case c == '"' || c == '\'':
		t.kind = tokString
		s.quoted(c)
	default:
		t.kind = tokSymbol
		s.off++
	}
	t.end = s.off
	t.text = s.src[t.start:t.end]
	return t
}

func (s *scanner) span(in func(byte) bool) {
	for s.off < len(s.src) && in(s.src[s.off]) {
		s.off++
	}
}

// is reports whether the next byte is one of a set.
func (s *scanner) is(set string) bool {
	return s.off < len(s.src) && strings.IndexByte(set, s.src[s.off]) >= 0
}

func (s *scanner) number() {
	if rest := s.src[s.off:]; len(rest) > 2 && rest[0] == '0' && rest[1]|0x20 == 'x' && isHex(rest[2]) {
		s.off += 2
		s.span(isHex)
		return
	}
	s.span(isDigit)
	if s.is(".") {
		s.off++
		s.span(isDigit)
	}
	if s.is("eE") {
		s.off++
		if s.is("+-") {
			s.off++
		}
		s.span(isDigit)
	}
	if s.is("fF") {
		s.off++
	}
}

// quoted reads a string. One that is not closed ends with its line.
func (s *scanner) quoted(quote byte) {
	for s.off++; s.off < len(s.src); s.off++ {
		switch c := s.src[s.off]; {
		case c == quote:
			s.off++
			return
		case c == '\n':
			return
		case c == '\\' && s.off+1 < len(s.src) && s.src[s.off+1] != '\n':
			s.off++
		}
	}
}
