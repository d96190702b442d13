// Package pbtxt works on the text of a config.pbtxt as its author wrote it: it formats it, and changes fields in place.
// Parse reads it into a concrete syntax tree: every field with its comments and its place in the text. The tree knows
// the grammar of protobuf's text format, and neither the schema nor what a value means: that is modelconfig.Parse. A
// text with mistakes has a tree too, which leaves out what cannot be read, because editors show texts that are being
// written.
package pbtxt

// File is the tree of a text.
type File struct {
	Fields []*Field
	// Dangling are the comments after the last field.
	Dangling []Comment
	// Skipped are the offsets of what is left out because it begins no field.
	Skipped []int
}

// Comment is one comment, from its # to the end of the line without white space at the end.
type Comment struct {
	Text  string
	Start int  // offset in bytes
	Line  int  // from 1
	Blank bool // a blank line is above it
}

// Field is one "name: value" with its comments.
type Field struct {
	// Leading are the comments on the lines above, and those between the name and the value.
	Leading []Comment
	Name    string // of an extension with its brackets
	Colon   bool
	Value   *Value // nil if the text ends after the name or has a mistake there
	// Trailing is the comment behind the value, on its line.
	Trailing *Comment
	Blank    bool // a blank line is above the name
	Start    int  // offset of the name
	Line     int  // of the name
	End      int  // offset after the value
	After    int  // offset after the separator behind the value, if there is one
}

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	Scalar  Kind = iota
	Message      // { ... } or < ... >
	List         // [ ... ]
)

// Value is a scalar, a message or a list.
type Value struct {
	Kind Kind
	// Leading and Trailing are the comments of a value in a list.
	Leading  []Comment
	Trailing *Comment
	// Parts are the words of a scalar: one, or adjacent strings.
	Parts  []Part
	Fields []*Field // of a message
	Values []*Value // of a list
	// Opening is the comment behind the opening bracket, on its line.
	Opening *Comment
	// Dangling are the comments before the closing bracket.
	Dangling   []Comment
	Start, End int // offsets: [Start, End)
	Line       int
	// Multiline reports that the value is on several lines.
	Multiline bool
	// Closed reports that a message or list has its closing bracket.
	Closed bool
}

// Part is one word of a scalar: a number with its sign, a name, or a quoted string.
type Part struct {
	Text       string // as written, without space between sign and number
	Leading    []Comment
	Trailing   *Comment
	Start, End int
	Line       int
}

// Comments returns all comments of a field, in the order of the text.
func (f *Field) Comments() []Comment {
	all := append([]Comment(nil), f.Leading...)
	if f.Value != nil {
		all = f.Value.appendComments(all)
	}
	return appendOne(all, f.Trailing)
}

// Comments returns all comments of a file, in the order of the text.
func (f *File) Comments() []Comment {
	var all []Comment
	for _, field := range f.Fields {
		all = append(all, field.Comments()...)
	}
	return append(all, f.Dangling...)
}

func (v *Value) appendComments(all []Comment) []Comment {
	all = appendOne(append(all, v.Leading...), v.Opening)
	for _, p := range v.Parts {
		all = appendOne(append(all, p.Leading...), p.Trailing)
	}
	for _, f := range v.Fields {
		all = append(all, f.Comments()...)
	}
	for _, e := range v.Values {
		all = e.appendComments(all)
	}
	return appendOne(append(all, v.Dangling...), v.Trailing)
}

func appendOne(all []Comment, c *Comment) []Comment {
	if c == nil {
		return all
	}
	return append(all, *c)
}
