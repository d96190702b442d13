package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"triton/pkg/spelling"
)

// Limits of a file. Aliases are expanded, so that a small file may describe a huge tree.
const (
	maxDepth = 64
	maxNodes = 200_000
)

// parse reads a YAML document and returns its top-level keys, nil if it is empty. Aliases and merge
// keys are expanded.
func parse(file string, text []byte) (*reader, []field, error) {
	r := &reader{file: file}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return r, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		return nil, nil, fmt.Errorf("%s:%d: expected a single document in the file", file, second.Line)
	}
	e := expander{file: file, left: maxNodes}
	root, err := e.expand(doc.Content[0], 0)
	if err != nil {
		return nil, nil, err
	}
	if isNull(root) {
		return r, nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, nil, fmt.Errorf("%s:%d: the file is not a mapping of options to values", file, root.Line)
	}
	return r, field{reader: r, node: root}.members(), nil
}

// expander copies a tree of nodes. The copy has no aliases and no merge keys.
type expander struct {
	file string
	left int // nodes that the copy may still get
}

func (e *expander) expand(n *yaml.Node, depth int) (*yaml.Node, error) {
	e.left--
	if depth > maxDepth || e.left < 0 {
		return nil, fmt.Errorf("%s:%d: the file is nested too deeply or too large", e.file, n.Line)
	}
	if n.Kind == yaml.AliasNode {
		return e.expand(n.Alias, depth+1)
	}
	out := *n
	out.Anchor, out.Content = "", nil
	if n.Kind == yaml.MappingNode {
		return &out, e.expandMapping(&out, n, depth)
	}
	for _, c := range n.Content {
		child, err := e.expand(c, depth+1)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, child)
	}
	return &out, nil
}

// expandMapping fills out with the pairs of n. Merged pairs follow its own ones, which win.
func (e *expander) expandMapping(out, n *yaml.Node, depth int) error {
	var merged []*yaml.Node
	own := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := e.expand(n.Content[i], depth+1)
		if err != nil {
			return err
		}
		value, err := e.expand(n.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return fmt.Errorf("%s:%d: the key of a value must be a text", e.file, n.Content[i].Line)
		case key.Tag == "!!merge" && value.Kind == yaml.SequenceNode:
			merged = append(merged, value.Content...)
		case key.Tag == "!!merge":
			merged = append(merged, value)
		case own[key.Value]:
			return fmt.Errorf("%s:%d: %q is given twice", e.file, key.Line, key.Value)
		default:
			own[key.Value] = true
			out.Content = append(out.Content, key, value)
		}
	}
	for _, m := range merged {
		if m.Kind != yaml.MappingNode {
			return fmt.Errorf("%s:%d: << merges mappings only", e.file, m.Line)
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if key := m.Content[i]; !own[key.Value] {
				own[key.Value] = true
				out.Content = append(out.Content, key, m.Content[i+1])
			}
		}
	}
	return nil
}

// reader collects what is wrong with a file.
type reader struct {
	file     string
	problems []error
}

// at adds a problem of a line.
func (r *reader) at(line int, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d: %s", r.file, line, fmt.Sprintf(format, args...)))
}

// field is a value of the file with its full name, such as profile_models.resnet.weighting.
type field struct {
	*reader
	name string
	node *yaml.Node
	key  string // last part of the name
	line int    // of the key
}

// members returns the values of a mapping.
func (f field) members() []field {
	var all []field
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		key := f.node.Content[i]
		name := key.Value
		if f.name != "" {
			name = f.name + "." + name
		}
		all = append(all, field{reader: f.reader, name: name, node: f.node.Content[i+1], key: key.Value, line: key.Line})
	}
	return all
}

// items returns the elements of a list. They have the name of the list.
func (f field) items() []field {
	var all []field
	for _, n := range f.node.Content {
		all = append(all, field{reader: f.reader, name: f.name, node: n, key: f.key, line: n.Line})
	}
	return all
}

// fail adds a problem of the value.
func (f field) fail(format string, args ...any) {
	f.at(f.node.Line, "Failed to set the value for field %q. Error: %s", f.name, fmt.Sprintf(format, args...))
}

// unknownKey adds the problem of a member that the mapping f must not have.
func (f field) unknownKey(member field, known []string) {
	f.at(member.line, "Key %q should not be specified in field %q.%s", member.key, f.name, misplaced(member.key, f.name, known))
}

// misplaced returns a sentence about a key that a mapping does not take: where it belongs, or the known one
// that was meant.
func misplaced(key, mapping string, known []string) string {
	if text := belongs(key, mapping); text != "" {
		return text
	}
	return didYouMean(key, known)
}

// didYouMean returns a sentence with the known name nearest to a misspelled one, or nothing.
func didYouMean(name string, known []string) string {
	canonical := strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	for _, k := range known {
		if strings.ReplaceAll(k, "-", "_") == canonical {
			return fmt.Sprintf(" Did you mean %q?", k)
		}
	}
	if near, ok := spelling.Within(len(name)/3+1, name, known); ok {
		return fmt.Sprintf(" Did you mean %q?", near)
	}
	return ""
}

// object reports whether the value is a mapping and adds a problem if it is not.
func (f field) object() bool {
	if f.node.Kind == yaml.MappingNode {
		return true
	}
	f.fail("Value for field %q should be an object. Type %s is provided instead.", f.name, pythonType(f.node))
	return false
}

// scalar returns the text of a value that is neither a list nor a mapping. It adds a problem if it
// is one of them or null.
func (f field) scalar() (string, bool) {
	if f.node.Kind == yaml.ScalarNode && !isNull(f.node) {
		return f.node.Value, true
	}
	f.fail("Value %q for field %q should be a primitive type.", f.text(), f.name)
	return "", false
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// maxText bounds what messages quote of a value, in bytes.
const maxText = 80

// text returns the value as one line of YAML, shortened if it is long.
func (f field) text() string {
	if f.node.Kind == yaml.ScalarNode {
		return shorten(f.node.Value)
	}
	flow := *f.node
	flow.Style = yaml.FlowStyle
	out, err := yaml.Marshal(&flow)
	if err != nil {
		return pythonType(f.node)
	}
	return shorten(strings.Join(strings.Fields(string(out)), " "))
}

func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "..."
}

// pythonType returns the type of a value as Model Analyzer's messages name it.
func pythonType(n *yaml.Node) string {
	name := "str"
	switch n.Kind {
	case yaml.MappingNode:
		name = "dict"
	case yaml.SequenceNode:
		name = "list"
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
			name = "NoneType"
		case "!!int":
			name = "int"
		case "!!float":
			name = "float"
		case "!!bool":
			name = "bool"
		}
	}
	return "<class '" + name + "'>"
}
