package pbtxt

import (
	"fmt"
	"slices"
	"strings"
)

// Editor changes the text of a configuration field by field. Everything that an edit does not name stays as its author
// wrote it: comments, order, layout. Paths are those of modelconfig.Config.Position: `input[0].dims[1]`,
// `parameters["k"]`. Values and fields are given in protobuf text format. A method that returns an error leaves the text
// unchanged.
type Editor struct {
	src    string
	fields []*Field
}

// NewEditor reads a text. It may have fields and values that the schema does not know, but its
// messages, lists and strings must be closed.
func NewEditor(src []byte) (*Editor, error) {
	fields, err := read(string(src))
	if err != nil {
		return nil, err
	}
	return &Editor{string(src), fields}, nil
}

// Bytes returns the text.
func (t *Editor) Bytes() []byte { return []byte(t.src) }

// Has reports whether the text sets a field.
func (t *Editor) Has(path string) bool {
	_, err := t.find(path)
	return err == nil
}

func (t *Editor) find(path string) (place, error) {
	steps, err := parsePath(path)
	if err != nil {
		return place{}, err
	}
	at, ok := find(t.fields, steps)
	if !ok {
		return place{}, fmt.Errorf("the text does not have %s", path)
	}
	return at, nil
}

// Set changes the value of a field, an element or an entry that the text has. The new value is
// such as `8`, `"x"`, `[ 1, 2 ]` or `{ count: 2 }`. A repeated field that is written several times
// becomes one list.
func (t *Editor) Set(path, value string) error {
	at, err := t.find(path)
	if err != nil {
		return err
	}
	if at.value != nil {
		return t.replace(at.value.Start, at.value.End, value)
	}
	first := at.fields[0]
	next := t.src
	for i := len(at.fields) - 1; i > 0; i-- {
		next = cut(next, at.fields[i].Start, at.fields[i].After)
	}
	return t.become(next[:first.nameEnd()] + ": " + value + next[first.After:])
}

// Rename changes the name of a field.
func (t *Editor) Rename(path, name string) error {
	at, err := t.find(path)
	if err != nil {
		return err
	}
	if len(at.fields) > 1 {
		return fmt.Errorf("%s is written %d times; name one of them", path, len(at.fields))
	}
	return t.replace(at.fields[0].Start, at.fields[0].nameEnd(), name)
}

// Insert adds fields at the end of the message at parent, or of the text if parent is empty.
func (t *Editor) Insert(parent, fields string) error {
	fields = strings.Trim(fields, "\n")
	if parent == "" {
		head := t.src
		if head != "" && !strings.HasSuffix(head, "\n") {
			head += "\n"
		}
		return t.become(head + fields + "\n")
	}
	at, err := t.find(parent)
	if err != nil {
		return err
	}
	if at.value == nil || at.value.Kind != Message {
		return fmt.Errorf("%s is not a message", parent)
	}
	return t.insertInto(at.value, fields)
}

func (t *Editor) insertInto(v *Value, fields string) error {
	closing := v.End - 1
	line := strings.LastIndexByte(t.src[:closing], '\n') + 1
	outer := t.src[line:closing]
	if strings.TrimSpace(outer) != "" || line <= v.Start { // the closing sign is not alone on its line
		if !strings.Contains(fields, "\n") && line <= v.Start {
			body := strings.TrimRight(t.src[:closing], " \t")
			return t.become(body + " " + fields + " " + t.src[closing:])
		}
		begin := strings.LastIndexByte(t.src[:v.Start], '\n') + 1
		outer = leadingBlanks(t.src[begin:v.Start])
		body := strings.TrimRight(t.src[:closing], " \t")
		return t.become(body + "\n" + indented(fields, outer+"  ") + "\n" + outer + t.src[closing:])
	}
	inner := outer + "  "
	if n := len(v.Fields); n > 0 {
		begin := strings.LastIndexByte(t.src[:v.Fields[n-1].Start], '\n') + 1
		if blanks := t.src[begin:v.Fields[n-1].Start]; begin > v.Start && strings.TrimSpace(blanks) == "" {
			inner = blanks
		}
	}
	return t.become(t.src[:line] + indented(fields, inner) + "\n" + t.src[line:])
}

// Append adds an element to a repeated field: to its last list, or after its last occurrence. A
// path without occurrences is inserted.
func (t *Editor) Append(path, value string) error {
	at, err := t.find(path)
	if err != nil {
		parent, name := split(path)
		if _, bad := parsePath(path); bad != nil {
			return bad
		}
		return t.Insert(parent, oneField(name, value))
	}
	last := at.fields[len(at.fields)-1]
	begin := strings.LastIndexByte(t.src[:last.Start], '\n') + 1
	blanks := leadingBlanks(t.src[begin:last.Start])
	if list := last.Value; list.Kind == List && len(list.Values) > 0 {
		end := list.Values[len(list.Values)-1].End
		return t.replace(end, end, ", "+strings.TrimLeft(indented(value, blanks+"  "), " \t"))
	}
	if last.Value.Kind == List {
		return t.replace(last.Start, last.After, last.Name+": [ "+value+" ]")
	}
	return t.replace(last.After, last.After, "\n"+indented(oneField(last.Name, value), blanks))
}

// Remove removes a field, an element or an entry with the comments inside it. Its line goes with it
// if nothing else is on it; comments around it stay.
func (t *Editor) Remove(path string) error {
	at, err := t.find(path)
	if err != nil {
		return err
	}
	if at.item != nil && at.fields[0].Value.Kind == List && len(at.fields[0].Value.Values) > 1 {
		return t.removeItem(at.fields[0].Value.Values, at.item)
	}
	next := t.src
	for i := len(at.fields) - 1; i >= 0; i-- {
		next = cut(next, at.fields[i].Start, at.fields[i].After)
	}
	return t.become(next)
}

// removeItem removes an element of a list with the comma before or after it.
func (t *Editor) removeItem(list []*Value, item *Value) error {
	i := slices.Index(list, item)
	if i > 0 {
		return t.separated(list[i-1].End, item.Start, item.End)
	}
	return t.separated(item.End, list[1].Start, item.Start)
}

// separated removes the comma between two offsets, and the element beside them that ends or starts
// at other.
func (t *Editor) separated(from, to, other int) error {
	gap := []byte(t.src[from:to])
	comment := false
	for i, c := range gap {
		switch {
		case c == '\n':
			comment = false
		case c == '#':
			comment = true
		case c == ',' && !comment:
			gap[i] = ' '
		}
	}
	kept, before, after := string(gap), t.src[:from], t.src[other:]
	if other < from { // the first element goes, and its indentation is that of what follows
		kept, before, after = strings.TrimLeft(kept, " \t"), t.src[:other], t.src[to:]
		if strings.TrimSpace(kept) == "" {
			kept = ""
		}
		return t.become(before + kept + after)
	}
	kept = strings.TrimRight(kept, " \t\n")
	if strings.Contains(kept, "#") && !strings.HasPrefix(after, "\n") {
		kept += "\n"
	}
	return t.become(before + kept + after)
}

// cut removes a part of a text, with its line if nothing else is on it.
func cut(src string, start, end int) string {
	begin := strings.LastIndexByte(src[:start], '\n') + 1
	rest := strings.TrimLeft(src[end:], " \t\r")
	if strings.TrimSpace(src[begin:start]) == "" {
		if after, ok := strings.CutPrefix(rest, "\n"); ok || rest == "" {
			return src[:begin] + after
		}
		return src[:start] + rest
	}
	if rest == "" || rest[0] == '\n' {
		return strings.TrimRight(src[:start], " \t") + rest
	}
	return src[:start] + rest
}

func (t *Editor) replace(start, end int, text string) error {
	return t.become(t.src[:start] + text + t.src[end:])
}

// become takes a new text if it can be read.
func (t *Editor) become(src string) error {
	fields, err := read(src)
	if err != nil {
		return fmt.Errorf("the edited text cannot be read: %w", err)
	}
	t.src, t.fields = src, fields
	return nil
}

// split separates the last step of a path.
func split(path string) (parent, name string) {
	if end := strings.LastIndexByte(path, '.'); end >= 0 {
		return path[:end], path[end+1:]
	}
	return "", path
}

// oneField returns a field with one value.
func oneField(name, value string) string {
	if strings.HasPrefix(value, "{") {
		return name + " " + value
	}
	return name + ": " + value
}

func leadingBlanks(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

func indented(text, blanks string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = blanks + line
		}
	}
	return strings.Join(lines, "\n")
}

func (f *Field) nameEnd() int { return f.Start + len(f.Name) }

// read parses a text that can be edited: nothing of it is left out of its tree.
func read(src string) ([]*Field, error) {
	tree := Parse([]byte(src))
	r := reader{src: src}
	r.fields(tree.Fields)
	if len(tree.Skipped) > 0 {
		r.fail(tree.Skipped[0], "expected the name of a field")
	}
	return tree.Fields, r.err
}

// reader finds the first mistake in a tree.
type reader struct {
	src string
	err error
}

func (r *reader) fail(at int, what string) {
	if r.err == nil {
		r.err = fmt.Errorf("line %d: %s", 1+strings.Count(r.src[:at], "\n"), what)
	}
}

func (r *reader) fields(list []*Field) {
	for _, f := range list {
		if f.Value == nil {
			r.fail(f.Start, "expected a value")
			continue
		}
		for _, v := range f.values() {
			r.value(v)
		}
		if f.Value.Kind == List && !f.Value.Closed {
			r.fail(f.Value.End, "a list is not closed")
		}
	}
}

func (r *reader) value(v *Value) {
	for _, p := range v.Parts {
		if c := p.Text[0]; (c == '"' || c == '\'') && !closed(p.Text) {
			r.fail(p.Start, "a string is not closed")
		}
	}
	switch v.Kind {
	case List:
		r.fail(v.Start, "a list in a list")
	case Message:
		r.fields(v.Fields)
		if !v.Closed {
			r.fail(v.End, "a message is not closed")
		}
	}
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
