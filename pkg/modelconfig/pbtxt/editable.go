package pbtxt

import (
	"fmt"
	"strings"
)

// field is one "name: value" of the text. Offsets are in bytes.
type field struct {
	name           string
	start, nameEnd int
	end            int  // after the value and its separator
	list           bool // the values are in brackets
	values         []value
}

// value is a scalar or a message.
type value struct {
	start, end int
	text       string // as written
	message    bool
	close      int // of the closing sign of a message
	fields     []field
}

// reader turns the tree of a text, which leaves out what cannot be read, into fields that can be
// edited, or an error.
type reader struct {
	src string
	err error
}

func read(src string) ([]field, error) {
	tree := Parse([]byte(src))
	r := &reader{src: src}
	fields := r.fields(tree.Fields)
	if len(tree.Skipped) > 0 {
		r.fail(tree.Skipped[0], "expected the name of a field")
	}
	return fields, r.err
}

func (r *reader) fail(at int, what string) {
	if r.err == nil {
		r.err = fmt.Errorf("line %d: %s", 1+strings.Count(r.src[:at], "\n"), what)
	}
}

func (r *reader) fields(list []*Field) []field {
	var all []field
	for _, f := range list {
		one := field{name: f.Name, start: f.Start, nameEnd: f.Start + len(f.Name), end: f.After}
		switch v := f.Value; {
		case v == nil:
			r.fail(f.Start, "expected a value")
			continue
		case v.Kind == List:
			one.list = true
			for _, e := range v.Values {
				one.values = append(one.values, r.value(e))
			}
			if !v.Closed {
				r.fail(v.End, "a list is not closed")
			}
		default:
			one.values = []value{r.value(v)}
		}
		all = append(all, one)
	}
	return all
}

func (r *reader) value(v *Value) value {
	out := value{start: v.Start, end: v.End, text: r.src[v.Start:v.End]}
	for _, p := range v.Parts {
		if c := p.Text[0]; (c == '"' || c == '\'') && !closed(p.Text) {
			r.fail(p.Start, "a string is not closed")
		}
	}
	if v.Kind == List {
		r.fail(v.Start, "a list in a list")
	}
	if v.Kind == Message {
		out.message, out.close = true, v.End-1
		out.fields = r.fields(v.Fields)
		if !v.Closed {
			r.fail(v.End, "a message is not closed")
		}
	}
	return out
}

// closed reports whether a string ends with the quote that it begins with.
func closed(text string) bool {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return true
		}
	}
	return false
}
