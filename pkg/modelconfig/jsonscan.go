package modelconfig

import (
	"fmt"
	"strconv"
	"strings"
)

// JSONError is the first mistake in a configuration in JSON.
type JSONError struct {
	Pos  Position
	Msg  string // in the words of protobuf's parser
	Hint string // what to do
}

// Error returns the message, its position and the hint.
func (e *JSONError) Error() string {
	text := fmt.Sprintf("%s (line %d, column %d)", e.Msg, e.Pos.Line, e.Pos.Col)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// jsonValue is one value. Its kind is its first byte, with 0 for numbers.
type jsonValue struct {
	pos     Position
	kind    byte
	text    string // decoded if it is a string, else as written
	members []jsonMember
	items   []jsonValue
}

type jsonMember struct {
	name  string
	pos   Position
	value jsonValue
}

// jsonScanner reads JSON as protobuf's C++ parser does. It accepts names without quotes, single
// quotes, commas before a closing bracket and unknown escapes.
type jsonScanner struct {
	src   string
	at    int
	line  int // lines before the current one
	begin int // of the current line
}

const maxJSONDepth = 100

func (s *jsonScanner) pos() Position { return Position{s.line + 1, s.at - s.begin + 1} }

func (s *jsonScanner) fail(msg string) error { return &JSONError{Pos: s.pos(), Msg: msg} }

// expected returns an error about what is missing at the cursor.
func (s *jsonScanner) expected(what string) error {
	if s.at >= len(s.src) {
		return s.fail("Unexpected end of string. Expected " + what + ".")
	}
	return s.fail("Expected " + what + ".")
}

func (s *jsonScanner) space() {
	for ; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case '\n':
			s.line++
			s.begin = s.at + 1
		case ' ', '\t', '\r', '\v', '\f':
		default:
			return
		}
	}
}

// accept consumes a character if it is the next one.
func (s *jsonScanner) accept(c byte) bool {
	s.space()
	if s.at < len(s.src) && s.src[s.at] == c {
		s.at++
		return true
	}
	return false
}

// document reads a text of one value.
func (s *jsonScanner) document() (jsonValue, error) {
	v, err := s.value(0, "")
	if err != nil {
		return v, err
	}
	if s.space(); s.at < len(s.src) {
		return v, s.fail("Parsing terminated before end of input.")
	}
	return v, nil
}

// value reads the value of a member, or of an element of its list.
func (s *jsonScanner) value(depth int, key string) (jsonValue, error) {
	s.space()
	v := jsonValue{pos: s.pos()}
	if s.at >= len(s.src) {
		return v, s.expected("a value")
	}
	if depth > maxJSONDepth {
		return v, s.fail("Message too deep. Max recursion depth reached for key '" + key + "'")
	}
	var err error
	switch c := s.src[s.at]; {
	case c == '{':
		v.kind = c
		err = s.object(&v, depth)
	case c == '[':
		v.kind = c
		err = s.array(&v, depth, key)
	case c == '"' || c == '\'':
		v.kind = '"'
		v.text, err = s.str()
	case c == '-' || isDigit(c):
		v.text, err = s.number()
	case c == 't' || c == 'f' || c == 'n':
		v.kind = c
		v.text = s.word()
		if v.text != "true" && v.text != "false" && v.text != "null" {
			err = &JSONError{Pos: v.pos, Msg: "Unexpected token.", Hint: "put text in quotes"}
		}
	case isWord(c):
		err = &JSONError{Pos: v.pos, Msg: "Unexpected token.", Hint: "put text in quotes"}
	case c == '}' || c == ']' || c == ',' || c == ':':
		err = s.fail("Unexpected token.")
	default:
		err = s.expected("a value")
	}
	return v, err
}

func (s *jsonScanner) object(v *jsonValue, depth int) error {
	s.at++
	for !s.accept('}') {
		if len(v.members) > 0 && !s.accept(',') {
			return s.expected(", or } after key:value pair")
		}
		if len(v.members) > 0 && s.accept('}') {
			return nil
		}
		m, err := s.member(depth)
		if err != nil {
			return err
		}
		v.members = append(v.members, m)
	}
	return nil
}

func (s *jsonScanner) member(depth int) (m jsonMember, err error) {
	s.space()
	m.pos = s.pos()
	switch {
	case s.at < len(s.src) && (s.src[s.at] == '"' || s.src[s.at] == '\''):
		if m.name, err = s.str(); err != nil {
			return m, err
		}
	case s.at < len(s.src) && isWord(s.src[s.at]) && !isDigit(s.src[s.at]):
		m.name = s.word()
	default:
		return m, s.expected("an object key or }")
	}
	if !s.accept(':') {
		return m, s.expected(": between key:value pair")
	}
	m.value, err = s.value(depth+1, m.name)
	return m, err
}

func (s *jsonScanner) array(v *jsonValue, depth int, key string) error {
	s.at++
	for !s.accept(']') {
		if len(v.items) > 0 && !s.accept(',') {
			return s.expected(", or ] after array value")
		}
		if len(v.items) > 0 && s.accept(']') {
			return nil
		}
		item, err := s.value(depth+1, key)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	return nil
}

func (s *jsonScanner) word() string {
	from := s.at
	for s.at < len(s.src) && isWord(s.src[s.at]) {
		s.at++
	}
	return s.src[from:s.at]
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func (s *jsonScanner) number() (string, error) {
	from, at := s.at, s.pos()
	if s.src[s.at] == '-' {
		s.at++
	}
	for s.at < len(s.src) && strings.IndexByte("+-.0123456789abcdefxABCDEFX", s.src[s.at]) >= 0 {
		s.at++
	}
	text := s.src[from:s.at]
	digits := strings.TrimPrefix(text, "-")
	switch {
	case len(digits) > 1 && digits[0] == '0' && (isDigit(digits[1]) || digits[1]|0x20 == 'x'):
		return "", &JSONError{Pos: at, Msg: "Octal/hex numbers are not valid JSON values.", Hint: "write it in decimal"}
	case !isNumber(digits):
		return "", &JSONError{Pos: at, Msg: "Unable to parse number."}
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return "", &JSONError{Pos: at, Msg: "Number exceeds the range of double."}
	}
	return text, nil
}
