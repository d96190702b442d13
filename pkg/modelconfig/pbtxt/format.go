package pbtxt

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"triton/pkg/modelconfig"
)

// width is the longest line of a message or list on one line, in bytes.
const width = 100

// Format writes a text in one style: two spaces for each level, a field on each line, no separators behind fields, no
// colon before a message, lists of scalars on one line of at most 100 columns. A message that is written on one line
// stays there while it fits. Comments, blank lines and the order of the fields stay. The file name is only for messages. A
// text that is no configuration is refused with the error of modelconfig.Parse.
func Format(file string, src []byte) ([]byte, error) {
	before, err := modelconfig.Parse(file, src)
	if err != nil {
		return nil, err
	}
	out := Print(Parse(src))
	after, err := modelconfig.Parse(file, out)
	if err != nil || !proto.Equal(before.ModelConfig, after.ModelConfig) {
		return nil, fmt.Errorf("%s: internal error: formatting would change the configuration; nothing is written", file)
	}
	return out, nil
}

// Print writes the tree of a text without mistakes.
func Print(f *File) []byte {
	p := printer{}
	p.fields(f.Fields, f.Dangling, 0)
	return []byte(p.out.String())
}

type printer struct{ out strings.Builder }

func (p *printer) line(indent int, text string) {
	if text != "" {
		p.out.WriteString(strings.Repeat("  ", indent))
		p.out.WriteString(text)
	}
	p.out.WriteByte('\n')
}

// comments prints comments on lines of their own. The first line of a block has no blank line
// above it.
func (p *printer) comments(list []Comment, indent int, first bool) {
	for i, c := range list {
		if c.Blank && (i > 0 || !first) {
			p.line(0, "")
		}
		p.line(indent, c.Text)
	}
}

func (p *printer) fields(fields []*Field, dangling []Comment, indent int) {
	for i, f := range fields {
		p.comments(f.Leading, indent, i == 0)
		if f.Blank && (i > 0 || len(f.Leading) > 0) {
			p.line(0, "")
		}
		p.field(f, indent)
	}
	p.comments(dangling, indent, len(fields) == 0)
}

// separator returns what is between the name of a field and its value. Only messages go without
// a colon, and lists of messages.
func separator(v *Value) string {
	if v.Kind == Message || v.Kind == List && len(v.Values) > 0 && v.Values[0].Kind == Message {
		return " "
	}
	return ": "
}

func (p *printer) field(f *Field, indent int) {
	if f.Value == nil {
		p.line(indent, f.Name+trailing(f.Trailing))
		return
	}
	head := f.Name + separator(f.Value)
	if f.Value.Kind == List && len(f.Value.Values) == 0 && !f.Colon {
		head = f.Name + " " // whether it is a list of messages is not known
	}
	p.value(head, f.Value, trailing(f.Trailing), indent)
}

// value prints a value between the text of its first line and that of its last.
func (p *printer) value(head string, v *Value, tail string, indent int) {
	if text, ok := inline(v); ok && (len(v.Parts) == 1 || fits(indent, head+text)) {
		p.line(indent, head+text+tail)
		return
	}
	switch v.Kind {
	case Scalar:
		p.strings(strings.TrimRight(head, " "), v.Parts, tail, indent)
	case Message:
		p.line(indent, head+"{"+trailing(v.Opening))
		p.fields(v.Fields, v.Dangling, indent+1)
		p.line(indent, "}"+tail)
	case List:
		p.line(indent, head+"["+trailing(v.Opening))
		if filled(v) {
			p.fill(v.Values, indent+1)
		} else {
			p.elements(v.Values, indent+1)
		}
		p.comments(v.Dangling, indent+1, len(v.Values) == 0)
		p.line(indent, "]"+tail)
	}
}

// strings prints adjacent strings on a line each. An element of a list has no head.
func (p *printer) strings(head string, parts []Part, tail string, indent int) {
	deeper := indent
	if head != "" {
		p.line(indent, head)
		deeper++
	}
	for i, part := range parts {
		p.comments(part.Leading, deeper, true)
		end := trailing(part.Trailing)
		if i == len(parts)-1 {
			end = tail
		}
		p.line(deeper, quotes(part.Text)+end)
	}
}

func (p *printer) elements(values []*Value, indent int) {
	for i, e := range values {
		p.comments(e.Leading, indent, i == 0)
		tail := ","
		if i == len(values)-1 {
			tail = ""
		}
		p.value("", e, tail+trailing(e.Trailing), indent)
	}
}

// filled reports whether a list has scalars without comments only, which share lines.
func filled(v *Value) bool {
	for _, e := range v.Values {
		if e.Kind != Scalar || len(e.Leading) > 0 || e.Trailing != nil {
			return false
		}
		if _, ok := inline(e); !ok {
			return false
		}
	}
	return true
}

func (p *printer) fill(values []*Value, indent int) {
	var row string
	for i, e := range values {
		text, _ := inline(e)
		if i < len(values)-1 {
			text += ","
		}
		switch {
		case row == "":
			row = text
		case fits(indent, row+" "+text):
			row += " " + text
		default:
			p.line(indent, row)
			row = text
		}
	}
	if row != "" {
		p.line(indent, row)
	}
}

func fits(indent int, text string) bool { return 2*indent+len(text) <= width }

// trailing returns a comment with the space before it.
func trailing(c *Comment) string {
	if c == nil {
		return ""
	}
	return "  " + c.Text
}
