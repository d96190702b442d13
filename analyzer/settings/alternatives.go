package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
)

// maxAlternatives bounds the values to try of one field of a model's configuration.
const maxAlternatives = 100_000

// alternativesValue is model_config_parameters: the fields of a ModelConfig, each with one or several
// values.
type alternativesValue struct{ to *Alternatives }

func (v alternativesValue) decode(f field) {
	if !f.object() {
		return
	}
	message := (&inferencepb.ModelConfig{}).ProtoReflect().Descriptor()
	var fields Alternatives
	for _, m := range f.members() {
		fd := message.Fields().ByName(protoreflect.Name(m.key))
		if fd == nil {
			f.unknownKey(m, fieldNames(message))
			continue
		}
		values := m.alternatives(fd)
		if len(values) > 0 {
			fields = append(fields, Field{m.key, values})
		}
	}
	combinations := 1
	for _, s := range fields {
		combinations *= len(s.Values)
		if combinations > maxAlternatives {
			f.fail("the values have more than %d combinations", maxAlternatives)
			return
		}
	}
	*v.to = fields
}

func fieldNames(message protoreflect.MessageDescriptor) []string {
	names := make([]string, message.Fields().Len())
	for i := range names {
		names[i] = string(message.Fields().Get(i).Name())
	}
	return names
}

// attempt returns the field with a reader of its own, to find out whether a value fits.
func (f field) attempt() field {
	f.reader = &reader{file: f.file}
	return f
}

// details joins the problems of an attempt.
func (f field) details() string {
	texts := make([]string, len(f.problems))
	for i, p := range f.problems {
		texts[i] = p.Error()
	}
	return strings.Join(texts, "; ")
}

// alternatives returns the values to try of a field of the protocol: one if the file has a valid
// value, else those of the elements of a list of valid values.
func (f field) alternatives(fd protoreflect.FieldDescriptor) []any {
	single := f.attempt()
	values := single.value(fd)
	if len(single.problems) == 0 {
		return values
	}
	if f.node.Kind != yaml.SequenceNode || len(f.node.Content) == 0 || fd.IsList() && !f.anyList() {
		f.problems = append(f.problems, single.problems...)
		return nil
	}
	several := f.attempt()
	values = nil
	for _, item := range several.items() {
		values = append(values, item.value(fd)...)
		if len(values) > maxAlternatives {
			item.fail("the values have more than %d combinations", maxAlternatives)
		}
		if len(several.problems) > 0 {
			break
		}
	}
	if len(several.problems) == 0 {
		return values
	}
	if fd.IsList() && !f.allLists() {
		f.at(f.node.Line, "Field %q is a sweep parameter. If you intend to provide a sweep parameter, "+
			"fix the number one error, otherwise fix error number two: 1. %s 2. %s", f.name, several.details(), single.details())
		return nil
	}
	f.problems = append(f.problems, several.problems...)
	return nil
}

// anyList reports whether an element of a list is a list.
func (f field) anyList() bool {
	return slices.ContainsFunc(f.node.Content, func(n *yaml.Node) bool { return n.Kind == yaml.SequenceNode })
}

// allLists reports whether all elements of a list are lists.
func (f field) allLists() bool {
	return !slices.ContainsFunc(f.node.Content, func(n *yaml.Node) bool { return n.Kind != yaml.SequenceNode })
}

// value returns what one value of a field of the protocol means: several alternatives if fields
// inside it have several values. A null leaves the field unset.
func (f field) value(fd protoreflect.FieldDescriptor) []any {
	switch {
	case isNull(f.node):
		return []any{nil}
	case fd.IsMap():
		if !f.object() {
			return nil
		}
		return f.product(func(m field) protoreflect.FieldDescriptor { return fd.MapValue() })
	case fd.IsList():
		return f.list(fd)
	}
	return f.element(fd)
}

// list returns the alternatives of a repeated field: one alternative of each element.
func (f field) list(fd protoreflect.FieldDescriptor) []any {
	if f.node.Kind != yaml.SequenceNode {
		f.fail("Value for field %q must be a list, value is %q.", f.name, f.text())
		return nil
	}
	lists := [][]any{{}}
	for _, item := range f.items() {
		values := item.element(fd)
		if len(item.problems) > 0 {
			return nil
		}
		if len(lists)*len(values) > maxAlternatives {
			item.fail("the values have more than %d combinations", maxAlternatives)
			return nil
		}
		next := make([][]any, 0, len(lists)*len(values))
		for _, l := range lists {
			for _, v := range values {
				next = append(next, append(l[:len(l):len(l)], v))
			}
		}
		lists = next
	}
	out := make([]any, len(lists))
	for i, l := range lists {
		out[i] = l
	}
	return out
}

// element returns the alternatives of a field that is not repeated, or of one element of a
// repeated field.
func (f field) element(fd protoreflect.FieldDescriptor) []any {
	if fd.Kind() == protoreflect.MessageKind {
		if !f.object() {
			return nil
		}
		return f.product(func(m field) protoreflect.FieldDescriptor {
			sub := fd.Message().Fields().ByName(protoreflect.Name(m.key))
			if sub == nil {
				f.unknownKey(m, fieldNames(fd.Message()))
			}
			return sub
		})
	}
	text, ok := f.scalar()
	if !ok {
		return nil
	}
	v, err := parseScalar(fd, text)
	if err != nil {
		f.fail("%v", err)
		return nil
	}
	return []any{v}
}

// product returns the combinations of the values of a mapping's keys, the last key varying fastest.
// find returns the type of a key; nil if it is unknown, which it has then reported.
func (f field) product(find func(field) protoreflect.FieldDescriptor) []any {
	objects := []map[string]any{{}}
	for _, m := range f.members() {
		fd := find(m)
		if fd == nil {
			return nil
		}
		values := m.alternatives(fd)
		if len(f.problems) > 0 {
			return nil
		}
		if len(objects)*len(values) > maxAlternatives {
			m.fail("the values have more than %d combinations", maxAlternatives)
			return nil
		}
		next := make([]map[string]any, 0, len(objects)*len(values))
		for _, o := range objects {
			for _, v := range values {
				with := maps.Clone(o)
				with[m.key] = v
				next = append(next, with)
			}
		}
		objects = next
	}
	out := make([]any, len(objects))
	for i, o := range objects {
		out[i] = o
	}
	return out
}

// parseScalar reads a number, text, boolean or name of an enumeration.
func parseScalar(fd protoreflect.FieldDescriptor, text string) (any, error) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return parseBool(text)
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return parseFloat(text)
	case protoreflect.StringKind, protoreflect.BytesKind:
		return text, nil
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		names := make([]string, values.Len())
		for i := range names {
			names[i] = string(values.Get(i).Name())
			if names[i] == text {
				return text, nil
			}
		}
		return nil, fmt.Errorf("Value %q for field %q is not acceptable. Value should be one of the following values: \"['%s']\"", //nolint:staticcheck // Model Analyzer's sentence
			shorten(text), fd.Name(), strings.Join(names, "', '"))
	case protoreflect.Uint32Kind:
		return parseWhole(text, 0, 1<<32-1)
	case protoreflect.Uint64Kind:
		return parseWhole(text, 0, 1<<63-1)
	case protoreflect.Int32Kind:
		return parseWhole(text, -1<<31, 1<<31-1)
	}
	return parseWhole(text, -1<<63, 1<<63-1)
}

func parseWhole(text string, low, high int64) (any, error) {
	n, err := parseInt64(text)
	if err != nil {
		return nil, err
	}
	if n < low || n > high {
		return nil, fmt.Errorf("%d is not in the range %d to %d", n, low, high)
	}
	return n, nil
}
