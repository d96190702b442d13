package lsp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/pbtxt"
)

// tensorType returns the type and shape of a tensor.
func tensorType(t inferencepb.DataType, dims []int64) string {
	shape := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(dims)), ", "), "[]")
	return fmt.Sprintf("%s [ %s ]", t, shape)
}

// nodeAt returns the innermost field whose name or scalar value is at an offset.
func nodeAt(d *document, offset int) (found pbtxt.Node, onName bool) {
	pbtxt.Walk(pbtxt.Parse(d.text), schema, func(n pbtxt.Node) bool {
		name := n.Field.Start + len(n.Field.Name)
		switch {
		case n.Field.Start <= offset && offset <= name && !n.Element:
			found, onName = n, true
		case n.Value != nil && n.Value.Kind == pbtxt.Scalar && n.Value.Start <= offset && offset <= n.Value.End:
			found, onName = n, false
		}
		return true
	})
	return found, onName
}

// hover describes the field at a place.
func (s *server) hover(p positionParams) (any, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	n, onName := nodeAt(d, d.offset(p.Position))
	if n.Field == nil {
		return nil, nil
	}
	at := d.span(n.Field.Start, n.Field.Start+len(n.Field.Name))
	if !onName {
		at = d.span(n.Value.Start, n.Value.End)
	}
	return hoverResult{markupContent{"markdown", describe(n.Path, n.Descriptor, parsed(d))}, at}, nil
}

// definition leads from the name of a model in a step to its configuration, and from the name of a
// file to the file.
func (s *server) definition(p positionParams) (any, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	offset := d.offset(p.Position)
	var target any
	visit := func(n pbtxt.Node) bool {
		if n.Value == nil || offset < n.Value.Start || offset > n.Value.End {
			return true
		}
		switch path := indexes.ReplaceAllString(n.Path, ""); {
		case path == "ensemble_scheduling.step.model_name":
			target = s.configOf(d, textOf(n.Value))
		case path == "output.label_filename":
			target = fileIn(filepath.Dir(d.path), textOf(n.Value))
		case strings.HasSuffix(path, ".input_data_file"):
			target = fileIn(filepath.Join(filepath.Dir(d.path), "warmup"), textOf(n.Value))
		}
		return target == nil
	}
	pbtxt.Walk(pbtxt.Parse(d.text), schema, visit)
	return target, nil
}

func textOf(v *pbtxt.Value) string {
	if len(v.Parts) == 0 {
		return ""
	}
	return pbtxt.Unquote(v.Parts[0].Text)
}

// configOf returns the place of the configuration of another model; nil if it has none.
func (s *server) configOf(d *document, name string) any {
	m, ok := sibling(filepath.Dir(d.path), name)
	if !ok {
		return nil
	}
	return fileIn(m.Dir, modelconfig.FileName)
}

// fileIn returns the place of a file in a folder; nil if it is not there.
func fileIn(dir, name string) any {
	if !filepath.IsLocal(name) {
		return nil
	}
	path := filepath.Join(dir, name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return location{URI: uriOf(path)}
}

// symbols returns the outline of a document.
func (s *server) symbols(p documentParams) (any, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	return outline(d, pbtxt.Parse(d.text).Fields), nil
}

func outline(d *document, fields []*pbtxt.Field) []documentSymbol {
	list := []documentSymbol{}
	for _, f := range fields {
		one := documentSymbol{
			Name: f.Name, Kind: symbolField, Range: d.span(f.Start, f.End), SelectionRange: d.span(f.Start, f.Start+len(f.Name)),
		}
		if f.Value == nil {
			list = append(list, one)
			continue
		}
		switch f.Value.Kind {
		case pbtxt.Scalar:
			one.Detail = textOf(f.Value)
		case pbtxt.Message:
			one.Kind, one.Detail, one.Children = symbolObject, label(f.Value.Fields), outline(d, f.Value.Fields)
		case pbtxt.List:
			for _, e := range f.Value.Values {
				if e.Kind != pbtxt.Message {
					continue
				}
				one.Children = append(one.Children, documentSymbol{
					Name: f.Name, Detail: label(e.Fields), Kind: symbolObject, Range: d.span(e.Start, e.End),
					SelectionRange: d.span(e.Start, e.Start+1), Children: outline(d, e.Fields),
				})
			}
		}
		list = append(list, one)
	}
	return list
}

// label returns what tells a message apart: its name, model or key.
func label(fields []*pbtxt.Field) string {
	for _, name := range []string{"name", "model_name", "key"} {
		if text := scalarOf(fields, name); text != "" {
			return text
		}
	}
	return ""
}
