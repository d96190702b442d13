package repo

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// configChange is a field that two configurations do not share. Old is empty if it was added, New if it
// was removed.
type configChange struct {
	Model string `json:"model,omitempty"`
	Path  string `json:"field,omitempty"` // such as input["X"].dims; empty: the model itself
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
}

// String returns the change as a line: "+", "-" or "~", the field and its values.
func (c configChange) String() string {
	switch {
	case c.Old == "":
		return fmt.Sprintf("+ %s: %s", c.Path, c.New)
	case c.New == "":
		return fmt.Sprintf("- %s: %s", c.Path, c.Old)
	}
	return fmt.Sprintf("~ %s: %s -> %s", c.Path, c.Old, c.New)
}

// compareConfigs returns the changes from one configuration to another by meaning, in the order of the schema: the order
// of fields, comments and defaults that are written out do not count, and tensors, steps and parameters are compared by
// their names.
func compareConfigs(from, to *inferencepb.ModelConfig) []configChange {
	c := comparison{}
	c.message("", from.ProtoReflect(), to.ProtoReflect())
	return c.changes
}

type comparison struct{ changes []configChange }

func (c *comparison) add(path, from, to string) {
	c.changes = append(c.changes, configChange{Path: path, Old: from, New: to})
}

func (c *comparison) message(prefix string, from, to protoreflect.Message) {
	fields := from.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if !from.Has(fd) && !to.Has(fd) {
			continue
		}
		path := string(fd.Name())
		if prefix != "" {
			path = prefix + "." + path
		}
		switch {
		case fd.IsMap():
			c.entries(path, fd, from.Get(fd).Map(), to.Get(fd).Map())
		case fd.IsList() && fd.Message() != nil:
			c.elements(path, from.Get(fd).List(), to.Get(fd).List())
		case fd.Message() != nil && !fd.IsList() && from.Has(fd) && to.Has(fd):
			c.message(path, from.Get(fd).Message(), to.Get(fd).Message())
		default:
			if old, now := fieldText(from, fd), fieldText(to, fd); old != now {
				c.add(path, old, now)
			}
		}
	}
}

// elements compares the messages of two lists by their names, or by their order if they have none.
func (c *comparison) elements(path string, from, to protoreflect.List) {
	name := namer(from, to)
	old, keys := index(from, name, nil)
	now, keys := index(to, name, keys)
	for _, key := range keys {
		at := path + "[" + key + "]"
		a, before := old[key]
		b, after := now[key]
		switch {
		case before && after:
			c.message(at, a, b)
		case before:
			c.add(at, messageText(a), "")
		default:
			c.add(at, "", messageText(b))
		}
	}
}

// index returns the messages of a list by their names, and appends the names to keys.
func index(list protoreflect.List, name func(int, protoreflect.Message) string, keys []string) (map[string]protoreflect.Message, []string) {
	byName := make(map[string]protoreflect.Message, list.Len())
	for i := range list.Len() {
		m := list.Get(i).Message()
		key := name(i, m)
		byName[key] = m
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return byName, keys
}

// nameFields are the fields that tell the messages of a list apart.
var nameFields = []protoreflect.Name{"name", "input_name", "model_name", "target_name"}

// namer returns the function that names the messages of two lists: by a field that all of them
// have, with different values; else by their number.
func namer(lists ...protoreflect.List) func(int, protoreflect.Message) string {
	for _, name := range nameFields {
		named := func(_ int, m protoreflect.Message) string {
			fd := m.Descriptor().Fields().ByName(name)
			if fd == nil || fd.IsList() || m.Get(fd).String() == "" {
				return ""
			}
			return strconv.Quote(m.Get(fd).String())
		}
		if slices.ContainsFunc(lists, func(l protoreflect.List) bool { return !distinct(l, named) }) {
			continue
		}
		return named
	}
	return func(i int, _ protoreflect.Message) string { return strconv.Itoa(i) }
}

func distinct(list protoreflect.List, name func(int, protoreflect.Message) string) bool {
	seen := map[string]bool{"": true}
	for i := range list.Len() {
		key := name(i, list.Get(i).Message())
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

func (c *comparison) entries(path string, fd protoreflect.FieldDescriptor, from, to protoreflect.Map) {
	var keys []protoreflect.MapKey
	collect := func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		if !slices.ContainsFunc(keys, func(known protoreflect.MapKey) bool { return known.Interface() == k.Interface() }) {
			keys = append(keys, k)
		}
		return true
	}
	from.Range(collect)
	to.Range(collect)
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	for _, k := range keys {
		at := path + "[" + strconv.Quote(k.String()) + "]"
		if fd.MapValue().Message() != nil && from.Has(k) && to.Has(k) {
			c.message(at, from.Get(k).Message(), to.Get(k).Message())
			continue
		}
		if old, now := entryText(fd, from, k), entryText(fd, to, k); old != now {
			c.add(at, old, now)
		}
	}
}

func entryText(fd protoreflect.FieldDescriptor, m protoreflect.Map, k protoreflect.MapKey) string {
	if !m.Has(k) {
		return ""
	}
	if fd.MapValue().Message() != nil {
		return messageText(m.Get(k).Message())
	}
	if fd.MapValue().Kind() == protoreflect.StringKind {
		return strconv.Quote(m.Get(k).String())
	}
	return m.Get(k).String()
}

// fieldText returns the value of a field in text format on one line. A scalar that is not set has
// its default; a message or list that is not set is empty.
func fieldText(m protoreflect.Message, fd protoreflect.FieldDescriptor) string {
	switch {
	case m.Has(fd) && fd.Message() != nil && !fd.IsList():
		return messageText(m.Get(fd).Message())
	case !m.Has(fd) && (fd.Message() != nil || fd.IsList()):
		return ""
	case !m.Has(fd):
		return scalarText(fd, fd.Default())
	}
	if fd.IsList() {
		words := make([]string, m.Get(fd).List().Len())
		for i := range words {
			words[i] = scalarText(fd, m.Get(fd).List().Get(i))
		}
		return "[ " + strings.Join(words, ", ") + " ]"
	}
	return scalarText(fd, m.Get(fd))
}

func scalarText(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return strconv.Quote(v.String())
	case protoreflect.EnumKind:
		if e := fd.Enum().Values().ByNumber(v.Enum()); e != nil {
			return string(e.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	}
	return v.String()
}

func messageText(m protoreflect.Message) string {
	words := []string{"{"}
	for line := range strings.Lines(string(modelconfig.Encode(m.Interface()))) {
		words = append(words, strings.TrimSpace(line))
	}
	return strings.Join(append(words, "}"), " ")
}
