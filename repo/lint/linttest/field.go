package linttest

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// operations names libraries of the machine that serves, like its GPUs: whether it has them is not
// known to the linter.
const operations = "inference.ModelConfig.model_operations"

// field changes one field of a model's configuration. It keeps the formatting of no text:
// comments do not matter to a load.
func (m *mutation) field(model string) {
	c, ok := m.config(model)
	if !ok {
		m.text(model)
		return
	}
	root := c.ProtoReflect()
	at := pick(m, messages(root, nil))
	fields := at.Descriptor().Fields()
	var set, all []protoreflect.FieldDescriptor
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.FullName() == operations {
			continue
		}
		all = append(all, fd)
		if at.Has(fd) {
			set = append(set, fd)
		}
	}
	switch n := m.IntN(10); {
	case len(set) > 0 && n < 3:
		fd := pick(m, set)
		at.Clear(fd)
		m.note("%s: clear %s", model, fd.FullName())
	case len(set) > 0 && n < 8:
		m.change(model, at, pick(m, set))
	case len(all) > 0:
		m.change(model, at, pick(m, all))
	}
	m.files[model+"/"+modelconfig.FileName] = string(modelconfig.Encode(c))
}

// config returns the configuration of a model, if it has one that can be read.
func (m *mutation) config(model string) (*inferencepb.ModelConfig, bool) {
	text, ok := m.files[model+"/"+modelconfig.FileName]
	if !ok {
		return nil, false
	}
	c, err := modelconfig.Parse("", []byte(text))
	if err != nil {
		return nil, false
	}
	return c.ModelConfig, true
}

// messages returns a message and all messages in it.
func messages(at protoreflect.Message, all []protoreflect.Message) []protoreflect.Message {
	all = append(all, at)
	// Fields are visited in their order, so that a seed gives one case.
	fields := at.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case !at.Has(fd):
		case fd.IsMap():
			for _, v := range sortedEntries(at.Get(fd).Map()) {
				if fd.MapValue().Message() != nil {
					all = messages(v.Message(), all)
				}
			}
		case fd.Message() == nil:
		case fd.IsList():
			list := at.Get(fd).List()
			for k := range list.Len() {
				all = messages(list.Get(k).Message(), all)
			}
		default:
			all = messages(at.Get(fd).Message(), all)
		}
	}
	return all
}

// change gives a field another value.
func (m *mutation) change(model string, at protoreflect.Message, fd protoreflect.FieldDescriptor) {
	m.note("%s: change %s", model, fd.FullName())
	switch {
	case fd.IsMap():
		m.changeMap(at.Mutable(fd).Map(), fd)
	case fd.IsList():
		m.changeList(at.Mutable(fd).List(), fd)
	case fd.Message() != nil:
		v := at.NewField(fd)
		m.fill(v.Message(), 0)
		at.Set(fd, v)
	default:
		at.Set(fd, m.scalar(fd))
	}
}

func (m *mutation) changeList(list protoreflect.List, fd protoreflect.FieldDescriptor) {
	n := list.Len()
	switch kind := m.IntN(4); {
	case n > 0 && kind == 0: // one fewer
		list.Truncate(n - 1)
	case n > 0 && kind == 1: // one twice
		list.Append(list.Get(m.IntN(n)))
	case n > 0 && kind == 2 && fd.Message() == nil:
		list.Set(m.IntN(n), m.scalar(fd))
	case fd.Message() != nil:
		v := list.NewElement()
		m.fill(v.Message(), 0)
		list.Append(v)
	default:
		list.Append(m.scalar(fd))
	}
}

func (m *mutation) changeMap(mp protoreflect.Map, fd protoreflect.FieldDescriptor) {
	if keys := sortedKeys(mp); len(keys) > 0 && m.IntN(2) == 0 {
		mp.Clear(pick(m, keys))
		return
	}
	key := m.scalar(fd.MapKey()).MapKey()
	v := mp.NewValue()
	if fd.MapValue().Message() != nil {
		m.fill(v.Message(), 0)
	} else {
		v = m.scalar(fd.MapValue())
	}
	mp.Set(key, v)
}

// fill sets some fields of an empty message.
func (m *mutation) fill(msg protoreflect.Message, depth int) {
	const deepest = 3
	fields := msg.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if m.IntN(2) == 0 || depth >= deepest && fd.Message() != nil {
			continue
		}
		switch {
		case fd.IsMap():
			m.changeMap(msg.Mutable(fd).Map(), fd)
		case fd.IsList() && fd.Message() != nil:
			m.fill(msg.Mutable(fd).List().AppendMutable().Message(), depth+1)
		case fd.IsList():
			msg.Mutable(fd).List().Append(m.scalar(fd))
		case fd.Message() != nil:
			m.fill(msg.Mutable(fd).Message(), depth+1)
		default:
			msg.Set(fd, m.scalar(fd))
		}
	}
}
