package modelconfig

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
)

// ParseJSON parses a configuration in protobuf's JSON form, as clients send it with a
// load: unknown fields are mistakes, names of enum values may have any case, numbers
// may be quoted, null means absent. The file name is only for messages. The error is a
// *JSONError.
func ParseJSON(file string, src []byte) (*Config, error) {
	c := &Config{ModelConfig: &inferencepb.ModelConfig{}, File: file, pos: make(map[string]Position)}
	if len(src) > maxFileSize {
		return nil, &JSONError{
			Pos: Position{1, 1}, Msg: fmt.Sprintf("The configuration has %d bytes.", len(src)),
			Hint: fmt.Sprintf("it may have at most %d", maxFileSize),
		}
	}
	s := jsonScanner{src: string(src)}
	v, err := s.document()
	if err != nil {
		return nil, err
	}
	if v.kind != '{' {
		return nil, &JSONError{Pos: v.pos, Msg: ": Root element must be a message.", Hint: "write { ... }"}
	}
	b := jsonBinder{c.pos}
	if err := b.message(c.ProtoReflect(), jsonPath{}, v.members); err != nil {
		return nil, err
	}
	return c, nil
}

// jsonBinder matches values with the schema and fills the message.
type jsonBinder struct{ pos map[string]Position }

// jsonPath is the path of a field: in the form of messages, which number the entries of
// maps, and in the form of Config.Position.
type jsonPath struct{ shown, key string }

func (p jsonPath) field(fd protoreflect.FieldDescriptor) jsonPath {
	return jsonPath{join(p.shown, string(fd.Name())), join(p.key, string(fd.Name()))}
}

func (p jsonPath) element(i int) jsonPath {
	at := "[" + strconv.Itoa(i) + "]"
	return jsonPath{p.shown + at, p.key + at}
}

// invalid returns the error for a value of the wrong type.
func (p jsonPath) invalid(at Position, value, kind string) error {
	return &JSONError{Pos: at, Msg: fmt.Sprintf("%s: invalid value %s for type %s", p.in(), value, kind)}
}

// in returns the path in brackets; empty for the whole configuration.
func (p jsonPath) in() string {
	if p.shown == "" {
		return ""
	}
	return "(" + p.shown + ")"
}

// about returns the path and a name, as the beginning of a message.
func (p jsonPath) about(name string) string { return strings.TrimPrefix(p.in()+" "+name, " ") }

func (b *jsonBinder) message(m protoreflect.Message, at jsonPath, members []jsonMember) error {
	for i := range members {
		n := &members[i]
		fd, err := jsonField(m.Descriptor(), at, n)
		if err != nil {
			return err
		}
		if n.value.kind == 'n' {
			continue
		}
		if err := b.field(m, fd, at, n); err != nil {
			return err
		}
	}
	return nil
}

func jsonField(md protoreflect.MessageDescriptor, at jsonPath, n *jsonMember) (protoreflect.FieldDescriptor, error) {
	if n.name == "" {
		return nil, &JSONError{Pos: n.pos, Msg: at.in() + ": Proto fields must have a name."}
	}
	if fd := md.Fields().ByName(protoreflect.Name(n.name)); fd != nil {
		return fd, nil
	}
	if fd := md.Fields().ByJSONName(n.name); fd != nil {
		return fd, nil
	}
	return nil, &JSONError{Pos: n.pos, Msg: at.about(n.name) + ": Cannot find field.", Hint: suggestField(md, n.name)}
}

func (b *jsonBinder) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, at jsonPath, n *jsonMember) error {
	here, v := at.field(fd), &n.value
	if _, ok := b.pos[here.key]; !ok {
		b.pos[here.key] = n.pos
	}
	switch {
	case fd.IsMap() && v.kind == '[':
		return at.invalid(v.pos, fmt.Sprintf("Cannot bind a list to map for field '%s'.", fd.Name()), "Map")
	case fd.IsMap():
		return b.entries(m.Mutable(fd).Map(), fd, here, v)
	case fd.IsList():
		return b.elements(m.Mutable(fd).List(), fd, here, v, false)
	case v.kind == '[':
		return &JSONError{Pos: v.pos, Msg: at.about(string(fd.Name())) + ": Proto field is not repeating, cannot start list."}
	}
	if oneof := fd.ContainingOneof(); oneof != nil && m.WhichOneof(oneof) != nil {
		return at.invalid(n.pos, fmt.Sprintf("oneof field '%s' is already set. Cannot set '%s'", oneof.Name(), fd.Name()), "oneof")
	}
	if fd.Message() != nil {
		if v.kind != '{' {
			return wrongMessage(fd, here, v)
		}
		return b.message(m.Mutable(fd).Message(), here, v.members)
	}
	s, err := jsonScalar(fd, here, at, v)
	if err == nil {
		m.Set(fd, s)
	}
	return err
}

// elements reads a list. A single value is a list of one, and nested lists are
// flattened.
func (b *jsonBinder) elements(list protoreflect.List, fd protoreflect.FieldDescriptor, at jsonPath, v *jsonValue, listed bool) error {
	if v.kind == '[' {
		for i := range v.items {
			if err := b.elements(list, fd, at, &v.items[i], true); err != nil {
				return err
			}
		}
		return nil
	}
	here := at.element(list.Len())
	b.pos[here.key] = v.pos
	if !listed {
		here.shown = at.shown
	}
	switch {
	case v.kind == 'n':
		return nil
	case fd.Message() == nil:
		s, err := jsonScalar(fd, here, at, v)
		if err == nil {
			list.Append(s)
		}
		return err
	case v.kind != '{':
		return wrongMessage(fd, here, v)
	}
	return b.message(list.AppendMutable().Message(), here, v.members)
}

func (b *jsonBinder) entries(mp protoreflect.Map, fd protoreflect.FieldDescriptor, at jsonPath, v *jsonValue) error {
	if v.kind != '{' {
		return at.invalid(v.pos, v.written(), "Map")
	}
	for i := range v.members {
		n := &v.members[i]
		here := jsonPath{at.element(i).shown, entryPath(at.key, n.name)}
		b.pos[here.key] = n.pos
		name := jsonValue{pos: n.pos, kind: '"', text: n.name}
		k, err := jsonScalar(fd.MapKey(), jsonPath{here.shown + ".key", ""}, here, &name)
		if err != nil {
			return err
		}
		key := k.MapKey()
		if mp.Has(key) {
			return &JSONError{Pos: n.pos, Msg: fmt.Sprintf("(%s) %s: Repeated map key: '%s' is already set.", at.element(0).shown, n.name, n.name)}
		}
		inner, val := jsonPath{here.shown + ".value", here.key}, mp.NewValue()
		switch {
		case n.value.kind == 'n':
		case fd.MapValue().Message() == nil:
			val, err = jsonScalar(fd.MapValue(), inner, here, &n.value)
		case n.value.kind != '{':
			err = wrongMessage(fd.MapValue(), inner, &n.value)
		default:
			err = b.message(val.Message(), inner, n.value.members)
		}
		if err != nil {
			return err
		}
		mp.Set(key, val)
	}
	return nil
}

func wrongMessage(fd protoreflect.FieldDescriptor, at jsonPath, v *jsonValue) error {
	return at.invalid(v.pos, v.written(), "type.googleapis.com/"+string(fd.Message().FullName()))
}
