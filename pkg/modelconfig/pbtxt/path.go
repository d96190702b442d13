package pbtxt

import (
	"fmt"
	"strconv"
	"strings"
)

// step is one part of a path: a field, and perhaps one of its elements or the entry of a map.
type step struct {
	name  string
	index int // -1 without
	key   string
	entry bool
}

// parsePath splits a path such as `input[0].dims[1]` or `parameters["k"].string_value`.
func parsePath(path string) ([]step, error) {
	var steps []step
	for rest := path; ; {
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		s := step{name: rest[:end], index: -1}
		rest = rest[end:]
		if s.name == "" {
			return nil, fmt.Errorf("%q is not the path of a field", path)
		}
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			var err error
			if rest, err = s.bracket(inner); err != nil {
				return nil, fmt.Errorf("%q is not the path of a field: %w", path, err)
			}
		}
		steps = append(steps, s)
		if rest == "" {
			return steps, nil
		}
		var ok bool
		if rest, ok = strings.CutPrefix(rest, "."); !ok {
			return nil, fmt.Errorf("%q is not the path of a field", path)
		}
	}
}

// bracket reads an index or a quoted key up to the closing bracket and returns what follows.
func (s *step) bracket(text string) (rest string, err error) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		if s.key, err = strconv.Unquote(quoted); err != nil {
			return "", err
		}
		s.entry, text = true, text[len(quoted):]
	} else {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return "", fmt.Errorf("a bracket is not closed")
		}
		if s.index, err = strconv.Atoi(text[:end]); err != nil || s.index < 0 {
			return "", fmt.Errorf("%q is not an index", text[:end])
		}
		text = text[end:]
	}
	rest, ok := strings.CutPrefix(text, "]")
	if !ok {
		return "", fmt.Errorf("a bracket is not closed")
	}
	return rest, nil
}

// place is where a path leads.
type place struct {
	fields []*Field // that the path names; several if it names a repeated field whole
	value  *Value   // what the field, element or entry is set to; nil for a repeated field whole
	item   *Value   // the element or entry of a repeated field; others may be in the same field
}

// find follows a path. It returns false if the text does not have it.
func find(fields []*Field, steps []step) (at place, ok bool) {
	for _, s := range steps {
		if at, ok = s.in(fields); !ok {
			return place{}, false
		}
		fields = nil
		if at.value != nil {
			fields = at.value.Fields
		}
	}
	return at, true
}

// in returns the place of a step among the fields of a message.
func (s step) in(fields []*Field) (place, bool) {
	var at place
	whole, seen := s.index < 0 && !s.entry, 0
	for _, f := range fields {
		if f.Name != s.name {
			continue
		}
		if whole {
			at.fields = append(at.fields, f)
		}
		for _, v := range f.values() {
			if s.index == seen || s.entry && mapKey(v) == s.key {
				at = place{[]*Field{f}, v, v} // of several entries the last one counts
			}
			seen++
		}
	}
	if s.entry && at.item != nil {
		at.value = at.item.entryValue()
	}
	if whole && len(at.fields) == 1 && at.fields[0].Value.Kind != List {
		at.value = at.fields[0].Value
	}
	return at, len(at.fields) > 0
}

// values returns the elements of a field with a list, or the one value of another field.
func (f *Field) values() []*Value {
	switch {
	case f.Value == nil:
		return nil
	case f.Value.Kind == List:
		return f.Value.Values
	}
	return []*Value{f.Value}
}

// entryValue returns the value of a map's entry, or the entry itself if it has none.
func (v *Value) entryValue() *Value {
	for _, f := range v.Fields {
		if inner := f.values(); f.Name == "value" && len(inner) == 1 {
			return inner[0]
		}
	}
	return v
}
