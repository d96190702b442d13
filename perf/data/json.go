package data

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"triton/pkg/tritonjson"
)

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// node is one JSON value. Numbers keep their text: integers of 64 bits must not
// pass through a float64.
type node struct {
	kind   kind
	isTrue bool
	text   string   // of numbers and strings
	items  []node   // elements of arrays, values of objects
	names  []string // of objects
}

// get returns the first member of that name, or nil.
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

// parseJSON parses a document. Like perf_analyzer it accepts NaN and Infinity, which Python
// writes. A syntax error names its line and column.
func parseJSON(src []byte) (*node, error) {
	var r tritonjson.Reader
	r.Reset(src)
	if !r.Document() {
		reason, at := r.Reason()
		line, col := position(src, at)
		return nil, &syntaxError{line, col, reason}
	}
	n := read(&r, src)
	return &n, nil
}

// syntaxError is where a document is not JSON, and why.
type syntaxError struct {
	line, column int
	reason       string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.line, e.column, e.reason)
}

func position(src []byte, at int) (line, col int) {
	before := src[:min(at, len(src))]
	return 1 + bytes.Count(before, []byte{'\n'}), 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// read returns the value at the cursor. Reader.Document has checked the syntax and the depth.
func read(r *tritonjson.Reader, src []byte) node {
	n := node{}
	switch r.Peek() {
	case '{':
		n.kind = object
		r.Enter()
		for first := true; ; first = false {
			name, _ := r.Member(first)
			if name == nil {
				return n
			}
			n.names = append(n.names, string(name))
			n.items = append(n.items, read(r, src))
		}
	case '[':
		n.kind = array
		r.Enter()
		for first := true; ; first = false {
			if more, _ := r.Element(first); !more {
				return n
			}
			n.items = append(n.items, read(r, src))
		}
	case '"':
		n.kind = text
		s, _ := r.Text()
		n.text = string(s)
		return n
	case 't', 'f':
		n.kind = boolean
		n.isTrue, _ = r.Bool()
		return n
	case 'n':
		r.Skip(0)
		return n
	}
	start := r.Pos()
	r.Skip(0)
	n.kind, n.text = number, string(src[start:r.Pos()])
	return n
}

// appendJSON appends a value without blanks.
func appendJSON(b []byte, n *node) []byte {
	switch n.kind {
	case boolean:
		return strconv.AppendBool(b, n.isTrue)
	case number:
		return append(b, n.text...)
	case text:
		return tritonjson.AppendString(b, n.text)
	case array:
		b = append(b, '[')
		for i := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, &n.items[i])
		}
		return append(b, ']')
	case object:
		b = append(b, '{')
		for i := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(tritonjson.AppendString(b, n.names[i]), ':')
			b = appendJSON(b, &n.items[i])
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}
