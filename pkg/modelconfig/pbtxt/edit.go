package pbtxt

import (
	"fmt"
	"strings"
)

// Editor changes the text of a configuration field by field. Everything that an edit does not name stays as its author
// wrote it: comments, order, layout. Paths are those of modelconfig.Config.Position: `input[0].dims[1]`,
// `parameters["k"]`. Values and fields are given in protobuf text format. A method that returns an error leaves the text
// unchanged.
type Editor struct {
	src    string
	fields []field
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
		return t.replace(at.value.start, at.value.end, value)
	}
	first := at.fields[0]
	next := t.src
	for i := len(at.fields) - 1; i > 0; i-- {
		next = cut(next, at.fields[i].start, at.fields[i].end)
	}
	return t.become(next[:first.nameEnd] + ": " + value + next[first.end:])
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
	return t.replace(at.fields[0].start, at.fields[0].nameEnd, name)
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
	if at.value == nil || !at.value.message {
		return fmt.Errorf("%s is not a message", parent)
	}
	return t.insertInto(at.value, fields)
}

func (t *Editor) insertInto(v *value, fields string) error {
	line := strings.LastIndexByte(t.src[:v.close], '\n') + 1
	outer := t.src[line:v.close]
	if strings.TrimSpace(outer) != "" || line <= v.start { // the closing sign is not alone on its line
		if !strings.Contains(fields, "\n") && line <= v.start {
			body := strings.TrimRight(t.src[:v.close], " \t")
			return t.become(body + " " + fields + " " + t.src[v.close:])
		}
		begin := strings.LastIndexByte(t.src[:v.start], '\n') + 1
		outer = leadingBlanks(t.src[begin:v.start])
		body := strings.TrimRight(t.src[:v.close], " \t")
		return t.become(body + "\n" + indented(fields, outer+"  ") + "\n" + outer + t.src[v.close:])
	}
	inner := outer + "  "
	if n := len(v.fields); n > 0 {
		begin := strings.LastIndexByte(t.src[:v.fields[n-1].start], '\n') + 1
		if blanks := t.src[begin:v.fields[n-1].start]; begin > v.start && strings.TrimSpace(blanks) == "" {
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
	begin := strings.LastIndexByte(t.src[:last.start], '\n') + 1
	blanks := leadingBlanks(t.src[begin:last.start])
	if last.list && len(last.values) > 0 {
		v := last.values[len(last.values)-1]
		return t.replace(v.end, v.end, ", "+strings.TrimLeft(indented(value, blanks+"  "), " \t"))
	}
	if last.list {
		return t.replace(last.start, last.end, last.name+": [ "+value+" ]")
	}
	return t.replace(last.end, last.end, "\n"+indented(oneField(last.name, value), blanks))
}

// Remove removes a field, an element or an entry with the comments inside it. Its line goes with it
// if nothing else is on it; comments around it stay.
func (t *Editor) Remove(path string) error {
	at, err := t.find(path)
	if err != nil {
		return err
	}
	if at.item != nil && at.fields[0].list && len(at.fields[0].values) > 1 {
		return t.removeItem(at.fields[0], at.item)
	}
	next := t.src
	for i := len(at.fields) - 1; i >= 0; i-- {
		next = cut(next, at.fields[i].start, at.fields[i].end)
	}
	return t.become(next)
}

// removeItem removes an element of a list with the comma before or after it.
func (t *Editor) removeItem(f *field, item *value) error {
	for i := range f.values {
		if &f.values[i] != item {
			continue
		}
		if i > 0 {
			return t.separated(f.values[i-1].end, item.start, item.end)
		}
		return t.separated(item.end, f.values[1].start, item.start)
	}
	return nil
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
