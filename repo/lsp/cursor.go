package lsp

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig/pbtxt"
)

var schema = (&inferencepb.ModelConfig{}).ProtoReflect().Descriptor()

// cursor is what one writes at a place of a text.
type cursor struct {
	message protoreflect.MessageDescriptor // around the place
	path    string                         // of the message, without numbers
	// fields are the fields of the messages around the place, from the outermost, as far as they are
	// written before it.
	fields [][]*pbtxt.Field
	// field is the field whose value is being written; nil: the name of a field is.
	field protoreflect.FieldDescriptor
	word  string // what is written of the name or value
	start int    // offset of the word
	quote bool   // the word is in a string
}

// cursorAt returns what is being written at an offset. It returns false in comments and where nothing
// can be suggested.
func cursorAt(text []byte, offset int) (cursor, bool) {
	tree := pbtxt.Parse(text[:offset])
	for _, c := range tree.Comments() {
		if lineEnd(text, c.Start) >= offset {
			return cursor{}, false
		}
	}
	c := cursor{message: schema, start: offset}
	return c, c.enter(tree.Fields, offset)
}

// lineEnd returns the offset of the end of the line.
func lineEnd(text []byte, start int) int {
	for start < len(text) && text[start] != '\n' {
		start++
	}
	return start
}

// enter finds the place below a message whose last field may be unfinished.
func (c *cursor) enter(fields []*pbtxt.Field, offset int) bool {
	c.fields = append(c.fields, fields)
	if len(fields) == 0 {
		return true
	}
	last := fields[len(fields)-1]
	fd := c.message.Fields().ByName(protoreflect.Name(last.Name))
	if last.Value == nil {
		switch {
		case last.Colon:
			c.field = fd
			return fd != nil
		case last.End == offset: // the name
			c.fields[len(c.fields)-1] = fields[:len(fields)-1]
			c.word, c.start = last.Name, last.Start
			return true
		}
		return false
	}
	v, between := open(last.Value)
	switch {
	case v.Kind == pbtxt.Message && !v.Closed:
		if fd == nil || fd.Message() == nil {
			return false
		}
		c.message = fd.Message()
		if c.path != "" {
			c.path += "."
		}
		c.path += last.Name
		return c.enter(v.Fields, offset)
	case between:
		c.field = fd
		return fd != nil
	case v.Kind == pbtxt.Scalar:
		return c.scalar(fd, v, offset)
	}
	return true
}

// open returns the unfinished element of an unfinished list, or else the value. It reports whether a
// new element of a list is being written.
func open(v *pbtxt.Value) (inner *pbtxt.Value, between bool) {
	for v.Kind == pbtxt.List && !v.Closed {
		if len(v.Values) == 0 {
			return v, true
		}
		last := v.Values[len(v.Values)-1]
		switch {
		case last.Kind == pbtxt.Scalar && v.End == last.End && !afterComma(v, last):
			return last, false
		case last.Kind != pbtxt.Scalar && !last.Closed:
			v = last
		default:
			return v, true
		}
	}
	return v, false
}

// afterComma reports whether a comma is behind the last element: then the list ends behind it.
func afterComma(list, last *pbtxt.Value) bool { return list.End > last.End }

// scalar finds the place in or behind a scalar.
func (c *cursor) scalar(fd protoreflect.FieldDescriptor, v *pbtxt.Value, offset int) bool {
	part := v.Parts[len(v.Parts)-1]
	if part.End < offset {
		return true // behind the value: the next name
	}
	c.field, c.start, c.word = fd, part.Start, part.Text
	if quote := part.Text[0]; quote == '"' || quote == '\'' {
		if len(part.Text) > 1 && part.Text[len(part.Text)-1] == quote {
			return false // behind the closing quote
		}
		c.quote, c.start, c.word = true, part.Start+1, part.Text[1:]
	}
	return fd != nil
}
