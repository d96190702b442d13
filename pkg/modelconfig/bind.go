package modelconfig

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// binder matches nodes with the schema and fills the message. It reports every mistake
// and continues.
type binder struct {
	pos  map[string]Position
	errs []*SyntaxError
}

func (b *binder) fail(at Position, msg, hint string) {
	b.errs = append(b.errs, &SyntaxError{Pos: at, Msg: msg, Hint: hint})
}

func (b *binder) setPosition(path string, at Position) {
	if _, ok := b.pos[path]; !ok {
		b.pos[path] = at
	}
}

func (b *binder) message(m protoreflect.Message, path string, nodes []node) {
	for i := range nodes {
		n := &nodes[i]
		if n.incomplete() {
			continue
		}
		fd := b.lookup(m.Descriptor(), n)
		if fd == nil {
			continue
		}
		if fd.Message() == nil && !n.colon {
			b.noColon(n)
			continue
		}
		at := join(path, n.name)
		b.setPosition(at, n.pos)
		switch {
		case fd.IsMap():
			b.mapEntries(m.Mutable(fd).Map(), fd, at, n)
		case fd.IsList():
			b.elements(m.Mutable(fd).List(), fd, at, n)
		default:
			if b.repeats(m, fd, n) {
				continue
			}
			b.singular(m, fd, at, n)
		}
	}
}

// incomplete reports whether the parser stopped within the node. It has then reported the
// mistake.
func (n *node) incomplete() bool {
	return n.name == "" && !n.extension || !n.list && len(n.values) == 0
}

// first returns the first token of a node's value; for a list, the opening bracket.
func (n *node) first() value {
	if n.list {
		return value{pos: n.open, tok: token{kind: tokSymbol, text: "[", pos: n.open}}
	}
	return n.values[0]
}

func (b *binder) noColon(n *node) {
	v := n.first()
	b.fail(v.pos, fmt.Sprintf(`Expected ":", found "%s".`, v.written()), "write "+n.name+": ...")
}

func (b *binder) lookup(md protoreflect.MessageDescriptor, n *node) protoreflect.FieldDescriptor {
	if n.extension {
		b.fail(n.pos, fmt.Sprintf("Extension %q is not defined or is not an extension of %q.", n.name, md.FullName()),
			"model configurations have no extensions: remove it")
		return nil
	}
	fd := md.Fields().ByName(protoreflect.Name(n.name))
	if fd == nil {
		b.fail(n.pos, fmt.Sprintf("Message type %q has no field named %q.", md.FullName(), n.name), suggestField(md, n.name))
	}
	return fd
}

// repeats reports a singular field that is given twice or beside another member of its
// oneof. As in Triton, a default value may be given again.
func (b *binder) repeats(m protoreflect.Message, fd protoreflect.FieldDescriptor, n *node) bool {
	if m.Has(fd) {
		b.fail(n.pos, fmt.Sprintf("Non-repeated field %q is specified multiple times.", fd.Name()), "keep one of them")
		return true
	}
	oneof := fd.ContainingOneof()
	if oneof == nil {
		return false
	}
	if other := m.WhichOneof(oneof); other != nil {
		b.fail(n.pos, fmt.Sprintf("Field %q is specified along with field %q, another member of oneof %q.",
			fd.Name(), other.Name(), oneof.Name()), "keep one of them")
		return true
	}
	return false
}

func (b *binder) singular(m protoreflect.Message, fd protoreflect.FieldDescriptor, at string, n *node) {
	v := n.first()
	if fd.Message() != nil {
		if b.wantMessage(fd, &v) {
			b.message(m.Mutable(fd).Message(), at, v.fields)
		}
		return
	}
	if s, ok := b.scalar(fd, &v); ok {
		m.Set(fd, s)
	}
}

func (b *binder) elements(list protoreflect.List, fd protoreflect.FieldDescriptor, at string, n *node) {
	for i := range n.values {
		v := &n.values[i]
		path := at + "[" + strconv.Itoa(list.Len()) + "]"
		if n.list {
			b.setPosition(path, v.pos)
		} else {
			b.setPosition(path, n.pos)
		}
		if fd.Message() != nil {
			if b.wantMessage(fd, v) {
				b.message(list.AppendMutable().Message(), path, v.fields)
			}
		} else if s, ok := b.scalar(fd, v); ok {
			list.Append(s)
		}
	}
}

// mapEntries reads "{ key: ... value: ... }"; the last entry of a key wins, and
// a missing key or value is the type's zero.
func (b *binder) mapEntries(mp protoreflect.Map, fd protoreflect.FieldDescriptor, at string, n *node) {
	for i := range n.values {
		v := &n.values[i]
		if !b.wantMessage(fd, v) {
			continue
		}
		outer := b.pos
		b.pos = make(map[string]Position)
		key, val := fd.MapKey().Default().MapKey(), mp.NewValue()
		seen := make(map[string]bool)
		for j := range v.fields {
			entry := &v.fields[j]
			if entry.incomplete() {
				continue
			}
			efd := b.lookup(fd.Message(), entry)
			if efd == nil {
				continue
			}
			if seen[entry.name] {
				b.fail(entry.pos, fmt.Sprintf("Non-repeated field %q is specified multiple times.", entry.name), "keep one of them")
				continue
			}
			seen[entry.name] = true
			b.entryField(efd, entry, &key, &val)
		}
		inner := b.pos
		b.pos = outer
		path := entryPath(at, key.String())
		where := n.pos
		if n.list {
			where = v.pos
		}
		b.pos[path] = where
		for p, pos := range inner {
			b.pos[join(path, p)] = pos
		}
		mp.Set(key, val)
	}
}

func (b *binder) entryField(fd protoreflect.FieldDescriptor, n *node, key *protoreflect.MapKey, val *protoreflect.Value) {
	v := n.first()
	if fd.Message() != nil {
		if b.wantMessage(fd, &v) {
			b.message(val.Message(), "", v.fields)
		}
		return
	}
	if !n.colon {
		b.noColon(n)
		return
	}
	s, ok := b.scalar(fd, &v)
	switch {
	case !ok:
	case fd.Number() == 1:
		*key = s.MapKey()
	default:
		*val = s
	}
}

func (b *binder) wantMessage(fd protoreflect.FieldDescriptor, v *value) bool {
	if v.message {
		return true
	}
	if !v.reported {
		b.failValue(fd, v, fmt.Sprintf(`Expected "{", found "%s".`, v.written()), messageHint(fd, v))
	}
	return false
}

// maxName limits the names of map entries in paths: every field below an entry has a
// path that contains the name.
const maxName = 256

// entryPath returns the path of a map's entry.
func entryPath(path, name string) string {
	return path + "[" + strconv.Quote(name[:min(len(name), maxName)]) + "]"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
