package lsp

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/pbtxt"
)

func (s *server) completion(p positionParams) (any, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	list := completionList{Items: []completionItem{}}
	offset := d.offset(p.Position)
	c, ok := cursorAt(d.text, offset)
	if !ok {
		return list, nil
	}
	if c.field == nil {
		list.Items = s.names(d, c, offset)
	} else {
		list.Items = s.values(d, c, offset)
	}
	return list, nil
}

// names suggests the fields that the message does not have yet, without the word being written.
func (s *server) names(d *document, c cursor, offset int) []completionItem {
	written := c.fields[len(c.fields)-1]
	if c.path == "" {
		written = slices.DeleteFunc(slices.Clone(pbtxt.Parse(d.text).Fields), func(f *pbtxt.Field) bool { return f.Start == c.start })
	}
	config := parsed(d)
	items := []completionItem{}
	fields := c.message.Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if taken(fd, written) {
			continue
		}
		path := string(fd.Name())
		if c.path != "" {
			path = c.path + "." + path
		}
		item := completionItem{
			Label: string(fd.Name()), Kind: itemField, Detail: typeName(fd),
			Documentation: &markupContent{"markdown", describe(path, fd, config)},
			SortText:      fmt.Sprintf("%03d", i),
		}
		text := string(fd.Name())
		if !followed(d.text, offset) {
			text, item.InsertTextFormat = s.template(fd)
		}
		item.TextEdit = &textEdit{d.span(c.start, offset), text}
		items = append(items, item)
	}
	return items
}

// parsed returns the configuration of a document, as far as it can be read.
func parsed(d *document) *inferencepb.ModelConfig {
	c, err := modelconfig.Parse(d.path, d.text)
	if err != nil {
		return nil
	}
	return c.ModelConfig
}

// taken reports whether a field cannot be written again, or not beside another one of its oneof.
func taken(fd protoreflect.FieldDescriptor, written []*pbtxt.Field) bool {
	if fd.IsList() || fd.IsMap() {
		return false
	}
	return slices.ContainsFunc(written, func(f *pbtxt.Field) bool {
		if f.Name == string(fd.Name()) {
			return true
		}
		oneof := fd.ContainingOneof()
		return oneof != nil && oneof.Fields().ByName(protoreflect.Name(f.Name)) != nil
	})
}

// followed reports whether the value of the field is written already.
func followed(text []byte, offset int) bool {
	for offset < len(text) && isWord(text[offset]) {
		offset++
	}
	for offset < len(text) && (text[offset] == ' ' || text[offset] == '\t') {
		offset++
	}
	return offset < len(text) && strings.IndexByte(":{<[", text[offset]) >= 0
}

var placeholder = regexp.MustCompile(`\$\d`)

// template returns the text of a new field, and the form of the text in the protocol.
func (s *server) template(fd protoreflect.FieldDescriptor) (text string, form int) {
	name := string(fd.Name())
	value := "$0"
	if fd.Kind() == protoreflect.StringKind {
		value = `"$0"`
	}
	switch {
	case fd.IsMap() && fd.MapValue().Message() != nil && fd.MapValue().Message().Name() == "ModelParameter":
		text = name + " {\n  key: \"$1\"\n  value { string_value: \"$0\" }\n}"
	case fd.IsMap() && fd.MapValue().Message() != nil:
		text = name + " {\n  key: \"$1\"\n  value {\n    $0\n  }\n}"
	case fd.IsMap():
		text = name + " {\n  key: \"$1\"\n  value: \"$0\"\n}"
	case fd.Message() != nil:
		text = name + " {\n  $0\n}"
	case fd.IsList():
		text = name + ": [ " + value + " ]"
	default:
		text = name + ": " + value
	}
	if s.snippets {
		return text, formatSnippet
	}
	return placeholder.ReplaceAllString(text, ""), 0
}

// candidate is a value that may be written.
type candidate struct {
	text, detail string
	kind         int
}

// values suggests values of a field.
func (s *server) values(d *document, c cursor, offset int) []completionItem {
	var list []candidate
	switch c.field.Kind() {
	case protoreflect.EnumKind:
		for i := range c.field.Enum().Values().Len() {
			list = append(list, candidate{string(c.field.Enum().Values().Get(i).Name()), "", itemEnumMember})
		}
	case protoreflect.BoolKind:
		list = []candidate{{"true", "", itemValue}, {"false", "", itemValue}}
	case protoreflect.StringKind:
		list = s.strings(d, c)
	}
	items := []completionItem{}
	for i, v := range list {
		text := v.text
		if c.field.Kind() == protoreflect.StringKind && !c.quote {
			text = strconv.Quote(text)
		}
		items = append(items, completionItem{
			Label: v.text, Kind: v.kind, Detail: v.detail, SortText: fmt.Sprintf("%03d", i),
			TextEdit: &textEdit{d.span(c.start, offset), text},
		})
	}
	return items
}
