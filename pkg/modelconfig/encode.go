package modelconfig

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Encode returns a configuration, or any message of one, as text, the same bytes for the same
// message: fields in the order that people use (schema order otherwise), map keys sorted,
// defaults left out.
func Encode(m proto.Message) []byte {
	w := textWriter{}
	w.message(m.ProtoReflect())
	return w.out
}

type textWriter struct {
	out    []byte
	indent int
}

// leading are the first fields of a configuration.
var leading = []protoreflect.Name{"name", "backend", "platform", "runtime", "default_model_filename", "max_batch_size"}

// fieldOrder returns the schema's order, with the leading fields of the top level first.
func fieldOrder(md protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	fields := md.Fields()
	list := make([]protoreflect.FieldDescriptor, 0, fields.Len())
	for i := range fields.Len() {
		list = append(list, fields.Get(i))
	}
	if md.FullName() != "inference.ModelConfig" {
		return list
	}
	rank := func(fd protoreflect.FieldDescriptor) int {
		if i := slices.Index(leading, fd.Name()); i >= 0 {
			return i
		}
		return len(leading)
	}
	slices.SortStableFunc(list, func(a, b protoreflect.FieldDescriptor) int { return rank(a) - rank(b) })
	return list
}

func (w *textWriter) message(m protoreflect.Message) {
	for _, fd := range fieldOrder(m.Descriptor()) {
		if !m.Has(fd) {
			continue
		}
		v := m.Get(fd)
		switch {
		case fd.IsMap():
			w.mapField(fd, v.Map())
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				w.block(string(fd.Name()), v.List().Get(i).Message())
			}
		case fd.IsList():
			w.line(string(fd.Name())+": ", func() { w.list(fd, v.List()) })
		case fd.Message() != nil:
			w.block(string(fd.Name()), v.Message())
		default:
			w.line(string(fd.Name())+": ", func() { w.scalar(fd, v) })
		}
	}
}

func (w *textWriter) pad() { w.out = append(w.out, strings.Repeat("  ", w.indent)...) }

func (w *textWriter) line(head string, body func()) {
	w.pad()
	w.out = append(w.out, head...)
	body()
	w.out = append(w.out, '\n')
}

func (w *textWriter) block(name string, m protoreflect.Message) {
	w.pad()
	w.out = append(w.out, name...)
	w.out = append(w.out, " {"...)
	start := len(w.out)
	w.out = append(w.out, '\n')
	w.indent++
	w.message(m)
	w.indent--
	if len(w.out) == start+1 { // the block is empty
		w.out = append(w.out[:start], " }\n"...)
		return
	}
	w.pad()
	w.out = append(w.out, "}\n"...)
}

func (w *textWriter) list(fd protoreflect.FieldDescriptor, l protoreflect.List) {
	w.out = append(w.out, '[')
	for i := range l.Len() {
		w.out = append(w.out, ' ')
		w.scalar(fd, l.Get(i))
		if i < l.Len()-1 {
			w.out = append(w.out, ',')
		}
	}
	w.out = append(w.out, " ]"...)
}

func (w *textWriter) mapField(fd protoreflect.FieldDescriptor, m protoreflect.Map) {
	for _, k := range sortedKeys(fd, m) {
		w.pad()
		w.out = append(w.out, fd.Name()...)
		w.out = append(w.out, " {\n"...)
		w.indent++
		w.line("key: ", func() { w.scalar(fd.MapKey(), k.Value()) })
		if fd.MapValue().Message() != nil {
			w.block("value", m.Get(k).Message())
		} else {
			w.line("value: ", func() { w.scalar(fd.MapValue(), m.Get(k)) })
		}
		w.indent--
		w.pad()
		w.out = append(w.out, "}\n"...)
	}
}

func (w *textWriter) scalar(fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		w.out = quote(w.out, v.String())
	case protoreflect.EnumKind:
		if e := fd.Enum().Values().ByNumber(v.Enum()); e != nil {
			w.out = append(w.out, e.Name()...)
		} else {
			w.out = strconv.AppendInt(w.out, int64(v.Enum()), 10)
		}
	case protoreflect.FloatKind:
		w.float(v.Float(), 32)
	case protoreflect.DoubleKind:
		w.float(v.Float(), 64)
	default: // integers and booleans
		w.out = append(w.out, v.String()...)
	}
}

func (w *textWriter) float(f float64, bits int) {
	switch {
	case math.IsNaN(f):
		w.out = append(w.out, "nan"...)
	case math.IsInf(f, 1):
		w.out = append(w.out, "inf"...)
	case math.IsInf(f, -1):
		w.out = append(w.out, "-inf"...)
	default:
		w.out = strconv.AppendFloat(w.out, f, 'g', -1, bits)
	}
}

// quote writes a string with the escapes of text format; other text is unchanged.
func quote(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\t':
			out = append(out, `\t`...)
		case c == '\r':
			out = append(out, `\r`...)
		case c < ' ' || c == 0x7f:
			out = append(out, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

func sortedKeys(fd protoreflect.FieldDescriptor, m protoreflect.Map) []protoreflect.MapKey {
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int {
		if fd.MapKey().Kind() == protoreflect.StringKind {
			return strings.Compare(a.String(), b.String())
		}
		return cmp.Compare(a.Uint(), b.Uint())
	})
	return keys
}
