package data

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding/json rejects numbers that data files contain (NaN and Infinity, as
// Python writes them) and has no place for an error in a value, which files with
// thousands of values need. Hence a parser of our own.

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// node is one JSON value. Numbers keep their text.
type node struct {
	kind  kind
	truth bool
	text  string // of numbers and strings
	items []node // of arrays; of objects the values
	names []string
	at    int // offset in the file
}

func (n *node) get(name string) *node {
	if n.kind != object {
		return nil
	}
	for i := range n.names {
		if n.names[i] == name {
			return &n.items[i]
		}
	}
	return nil
}

// maxDepth bounds the nesting, so that no file exhausts the stack.
const maxDepth = 64

type parser struct {
	src []byte
	pos int
}

// syntaxError is an error at an offset.
type syntaxError struct {
	at  int
	msg string
}

func (e *syntaxError) Error() string { return e.msg }

// parseJSON reads one value and nothing after it.
func parseJSON(src []byte) (*node, error) {
	p := parser{src: src}
	n, err := p.value(0)
	if err == nil {
		p.space()
		if p.pos < len(src) {
			err = p.errorf("unexpected %q after the end", src[p.pos])
		}
	}
	if err == nil {
		return &n, nil
	}
	var se *syntaxError
	if errors.As(err, &se) {
		line, col := place(src, se.at)
		return nil, fmt.Errorf("line %d, column %d: %w", line, col, err)
	}
	return nil, err
}

func place(src []byte, at int) (line, col int) {
	before := string(src[:min(at, len(src))])
	line = 1 + strings.Count(before, "\n")
	return line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

func (p *parser) errorf(format string, args ...any) error {
	return &syntaxError{p.pos, fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) (node, error) {
	p.space()
	if depth > maxDepth {
		return node{}, p.errorf("nested deeper than %d", maxDepth)
	}
	if p.pos == len(p.src) {
		return node{}, p.errorf("the file ends where a value is expected")
	}
	n := node{at: p.pos}
	var err error
	switch c := p.src[p.pos]; {
	case c == '{':
		n.kind = object
		err = p.list('}', func() error { return p.member(&n, depth) })
	case c == '[':
		n.kind = array
		err = p.list(']', func() error {
			v, err := p.value(depth + 1)
			n.items = append(n.items, v)
			return err
		})
	case c == '"':
		n.kind = text
		n.text, err = p.str()
	case c == 't' && p.word("true"):
		n.kind, n.truth = boolean, true
	case c == 'f' && p.word("false"):
		n.kind = boolean
	case c == 'n' && p.word("null"):
	default:
		n.kind = number
		n.text, err = p.num()
	}
	return n, err
}

func (p *parser) member(n *node, depth int) error {
	p.space()
	if p.pos == len(p.src) || p.src[p.pos] != '"' {
		return p.errorf("a member name in quotes is expected")
	}
	name, err := p.str()
	if err != nil {
		return err
	}
	p.space()
	if p.pos == len(p.src) || p.src[p.pos] != ':' {
		return p.errorf("':' is expected after %q", name)
	}
	p.pos++
	v, err := p.value(depth + 1)
	n.names, n.items = append(n.names, name), append(n.items, v)
	return err
}

// list reads elements separated by commas up to the closing character; the
// opening one is next.
func (p *parser) list(closing byte, element func() error) error {
	p.pos++
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == closing {
		p.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		p.space()
		switch {
		case p.pos == len(p.src):
			return p.errorf("the file ends where %q is expected", closing)
		case p.src[p.pos] == closing:
			p.pos++
			return nil
		case p.src[p.pos] != ',':
			return p.errorf("',' or %q is expected, not %q", closing, p.src[p.pos])
		}
		p.pos++
	}
}

func (p *parser) word(w string) bool {
	if len(p.src)-p.pos < len(w) || string(p.src[p.pos:p.pos+len(w)]) != w {
		return false
	}
	p.pos += len(w)
	return true
}

func (p *parser) num() (string, error) {
	start := p.pos
	if p.src[p.pos] == '-' {
		p.pos++
	}
	for _, w := range []string{"NaN", "Infinity", "Inf"} {
		if p.word(w) {
			return string(p.src[start:p.pos]), nil
		}
	}
	for p.pos < len(p.src) && strings.IndexByte("0123456789.eE+-", p.src[p.pos]) >= 0 {
		p.pos++
	}
	s := string(p.src[start:p.pos])
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		p.pos = start
		return "", p.errorf("unexpected %q where a value is expected", p.src[start])
	}
	if _, err := strconv.ParseFloat(s, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
		p.pos = start
		return "", p.errorf("%q is not a number", s)
	}
	return s, nil
}

func (p *parser) str() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.src) && p.src[p.pos] != '"' && p.src[p.pos] != '\\' && p.src[p.pos] >= ' ' {
		p.pos++
	}
	b := append([]byte(nil), p.src[start:p.pos]...)
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			p.pos++
			return string(b), nil
		case c < ' ':
			return "", p.errorf("control character in a string")
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, c)
			p.pos++
		}
	}
	return "", p.errorf("the file ends inside a string")
}

func (p *parser) escape() (rune, error) {
	if p.pos+1 >= len(p.src) {
		return 0, p.errorf("the file ends inside a string")
	}
	c := p.src[p.pos+1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		p.pos += 2
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, p.errorf("unknown escape \\%c", c)
	}
	r, err := p.hex()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if p.pos+1 < len(p.src) && p.src[p.pos] == '\\' && p.src[p.pos+1] == 'u' {
		r2, err := p.hex()
		if err != nil {
			return 0, err
		}
		return utf16.DecodeRune(r, r2), nil
	}
	return utf8.RuneError, nil
}

// hex reads \uXXXX.
func (p *parser) hex() (rune, error) {
	if p.pos+6 > len(p.src) {
		return 0, p.errorf("the file ends inside a string")
	}
	v, err := strconv.ParseUint(string(p.src[p.pos+2:p.pos+6]), 16, 16)
	if err != nil {
		return 0, p.errorf("four hex digits are expected after \\u")
	}
	p.pos += 6
	return rune(v), nil
}
