package pbtxt

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// Apply returns the text with the fewest edits that make it say want.
func Apply(src []byte, want *inferencepb.ModelConfig) ([]byte, error) {
	now, err := modelconfig.Parse("", src)
	if err != nil {
		return nil, err
	}
	text, err := NewEditor(src)
	if err != nil {
		return nil, err
	}
	a := applier{text: text}
	a.message("", now.ProtoReflect(), want.ProtoReflect())
	if a.err != nil {
		return nil, a.err
	}
	if now, err = modelconfig.Parse("", text.Bytes()); err != nil {
		return nil, fmt.Errorf("the edited text cannot be read: %w", err)
	}
	if !proto.Equal(now.ModelConfig, want) {
		return nil, errors.New("the edited text does not say what it should")
	}
	return text.Bytes(), nil
}

// applier makes the edits for the differences of two messages.
type applier struct {
	text *Editor
	err  error
}

func (a *applier) do(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *applier) message(path string, now, want protoreflect.Message) {
	fields := want.Descriptor().Fields()
	var missing []protoreflect.FieldDescriptor
	for i := range fields.Len() {
		fd := fields.Get(i)
		at := string(fd.Name())
		if path != "" {
			at = path + "." + at
		}
		switch {
		case !now.Has(fd) && !want.Has(fd):
		case fd.IsMap():
			a.entries(at, want, fd, now.Get(fd).Map(), want.Get(fd).Map())
		case fd.IsList():
			a.elements(at, want, fd, now.Get(fd).List(), want.Get(fd).List())
		case !want.Has(fd) && fd.Message() == nil && !fd.HasPresence():
			a.do(a.text.Set(at, valueText(want, fd)))
		case !want.Has(fd):
			a.do(a.text.Remove(at))
		case now.Has(fd) && fd.Message() != nil:
			a.message(at, now.Get(fd).Message(), want.Get(fd).Message())
		case a.text.Has(at):
			if !now.Get(fd).Equal(want.Get(fd)) {
				a.do(a.text.Set(at, valueText(want, fd)))
			}
		default:
			missing = append(missing, fd)
		}
	}
	for _, fd := range missing {
		a.do(a.text.Insert(path, fieldText(want, fd, want.Get(fd))))
	}
}

func (a *applier) elements(at string, m protoreflect.Message, fd protoreflect.FieldDescriptor, now, want protoreflect.List) {
	for i := range min(now.Len(), want.Len()) {
		switch element := at + "[" + strconv.Itoa(i) + "]"; {
		case fd.Message() != nil:
			a.message(element, now.Get(i).Message(), want.Get(i).Message())
		case !now.Get(i).Equal(want.Get(i)):
			a.do(a.text.Set(element, elementText(m, fd, want.Get(i))))
		}
	}
	for i := now.Len() - 1; i >= want.Len(); i-- {
		a.do(a.text.Remove(at + "[" + strconv.Itoa(i) + "]"))
	}
	if now.Len() == 0 {
		parent, _ := split(at)
		a.do(a.text.Insert(parent, fieldText(m, fd, m.Get(fd))))
		return
	}
	for i := now.Len(); i < want.Len(); i++ {
		a.do(a.text.Append(at, elementText(m, fd, want.Get(i))))
	}
}

func (a *applier) entries(at string, m protoreflect.Message, fd protoreflect.FieldDescriptor, now, want protoreflect.Map) {
	path := func(k protoreflect.MapKey) string { return at + "[" + strconv.Quote(k.String()) + "]" }
	for _, k := range sortedKeys(now) {
		if !want.Has(k) {
			a.do(a.text.Remove(path(k)))
		}
	}
	for _, k := range sortedKeys(want) {
		switch v := want.Get(k); {
		case !now.Has(k):
			parent, _ := split(at)
			a.do(a.text.Insert(parent, entryText(m, fd, k, v)))
		case fd.MapValue().Message() != nil:
			a.message(path(k), now.Get(k).Message(), v.Message())
		case !now.Get(k).Equal(v):
			_, text, _ := strings.Cut(entryText(m, fd, k, v), "\n  value: ")
			a.do(a.text.Set(path(k), strings.TrimSuffix(text, "\n}")))
		}
	}
}

func sortedKeys(m protoreflect.Map) []protoreflect.MapKey {
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	return keys
}

// fieldText returns a field with a value, as text.
func fieldText(m protoreflect.Message, fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	alone := m.New()
	alone.Set(fd, v)
	return strings.TrimSuffix(string(modelconfig.Encode(alone.Interface())), "\n")
}

// valueText returns the value of a scalar field, as text.
func valueText(m protoreflect.Message, fd protoreflect.FieldDescriptor) string {
	if !m.Has(fd) { // Encode leaves defaults out
		switch fd.Kind() {
		case protoreflect.StringKind:
			return `""`
		case protoreflect.EnumKind:
			return string(fd.Enum().Values().ByNumber(0).Name())
		}
		return fd.Default().String()
	}
	_, text, _ := strings.Cut(fieldText(m, fd, m.Get(fd)), ": ")
	return text
}

// elementText returns an element of a repeated field, as text.
func elementText(m protoreflect.Message, fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	alone := m.New()
	alone.Mutable(fd).List().Append(v)
	text := strings.TrimSuffix(string(modelconfig.Encode(alone.Interface())), "\n")
	text = strings.TrimPrefix(text, string(fd.Name()))
	if fd.Message() != nil {
		return strings.TrimPrefix(text, " ")
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, ": [ "), " ]")
}

// entryText returns an entry of a map, as text.
func entryText(m protoreflect.Message, fd protoreflect.FieldDescriptor, k protoreflect.MapKey, v protoreflect.Value) string {
	alone := m.New()
	alone.Mutable(fd).Map().Set(k, v)
	return strings.TrimSuffix(string(modelconfig.Encode(alone.Interface())), "\n")
}
