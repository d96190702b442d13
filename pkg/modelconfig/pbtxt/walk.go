package pbtxt

import (
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Node is a field, or one element of a repeated field, with its path in the names of
// modelconfig.Config.Position, such as "input[0].dims".
type Node struct {
	Path       string
	Field      *Field
	Value      *Value // of the element, or of the field; nil: there is none
	Descriptor protoreflect.FieldDescriptor
	// Element reports that the node is one element of a repeated field or a map.
	Element bool
	// Parent is the message that has the field.
	Parent protoreflect.MessageDescriptor
}

// Walk calls visit for every field of a file that the message type has, from outside to inside. A
// repeated field is visited once for every place where it is written, and each of its elements
// with its number. It stops when visit returns false.
func Walk(f *File, md protoreflect.MessageDescriptor, visit func(Node) bool) {
	w := walker{visit: visit, counts: map[string]int{}}
	w.fields("", f.Fields, md)
}

type walker struct {
	visit  func(Node) bool
	counts map[string]int // elements of repeated fields
}

func (w *walker) fields(before string, fields []*Field, md protoreflect.MessageDescriptor) bool {
	for _, f := range fields {
		fd := md.Fields().ByName(protoreflect.Name(f.Name))
		if fd == nil {
			continue
		}
		path := f.Name
		if before != "" {
			path = before + "." + path
		}
		n := Node{Path: path, Field: f, Value: f.Value, Descriptor: fd, Parent: md}
		if !w.visit(n) {
			return false
		}
		if f.Value == nil {
			continue
		}
		if !fd.IsList() && !fd.IsMap() {
			if !w.message(path, f.Value, fd.Message()) {
				return false
			}
			continue
		}
		values := []*Value{f.Value}
		if f.Value.Kind == List {
			values = f.Value.Values
		}
		for _, v := range values {
			if !w.element(n, v) {
				return false
			}
		}
	}
	return true
}

func (w *walker) message(path string, v *Value, md protoreflect.MessageDescriptor) bool {
	return v.Kind != Message || md == nil || w.fields(path, v.Fields, md)
}

func (w *walker) element(n Node, v *Value) bool {
	n.Value, n.Element = v, true
	if n.Descriptor.IsMap() {
		n.Path += "[" + strconv.Quote(mapKey(v)) + "]"
		return w.visit(n) && w.entry(n.Path, v, n.Descriptor)
	}
	i := w.counts[n.Path]
	w.counts[n.Path] = i + 1
	n.Path += "[" + strconv.Itoa(i) + "]"
	return w.visit(n) && w.message(n.Path, v, n.Descriptor.Message())
}

// entry visits the message in the value of a map's entry. The value's fields have the path of the
// entry, as in modelconfig.
func (w *walker) entry(path string, v *Value, fd protoreflect.FieldDescriptor) bool {
	for _, f := range v.Fields {
		if f.Name == "value" && f.Value != nil && !w.message(path, f.Value, fd.MapValue().Message()) {
			return false
		}
	}
	return true
}

func mapKey(v *Value) string {
	for _, f := range v.Fields {
		if f.Name == "key" && f.Value != nil && len(f.Value.Parts) > 0 {
			return Unquote(f.Value.Parts[0].Text)
		}
	}
	return ""
}

// Unquote returns the text in the quotes of a part, as far as it has no escapes; other words are
// returned as they are.
func Unquote(text string) string {
	if len(text) < 2 || text[0] != '"' && text[0] != '\'' {
		return text
	}
	inner := text[1:]
	if inner[len(inner)-1] == text[0] {
		inner = inner[:len(inner)-1]
	}
	return inner
}
