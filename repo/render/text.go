package render

import (
	"bytes"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/pbtxt"
)

// Text returns the completed configuration as the text of its file, with the comments that are
// there. With marks, each addition has a comment with its reason.
func (r *Result) Text(marks bool) ([]byte, error) {
	out := modelconfig.Encode(r.Config)
	if len(bytes.TrimSpace(r.Source)) > 0 {
		var err error
		if out, err = pbtxt.Apply(r.Source, r.Config); err != nil {
			return nil, err
		}
	}
	tree := pbtxt.Parse(out)
	if marks {
		r.mark(tree)
	}
	return pbtxt.Print(tree), nil
}

// mark writes the reasons behind the additions.
func (r *Result) mark(tree *pbtxt.File) {
	reasons := make(map[string]string, len(r.Added))
	for _, a := range r.Added {
		reasons[a.Path] = a.Reason
	}
	pbtxt.Walk(tree, (&inferencepb.ModelConfig{}).ProtoReflect().Descriptor(), func(n pbtxt.Node) bool {
		reason, ok := reasons[n.Path]
		if !ok || n.Value == nil {
			return true
		}
		delete(reasons, n.Path)
		at := &n.Field.Trailing
		switch {
		case n.Value.Kind == pbtxt.Message && len(n.Value.Fields) > 0:
			at = &n.Value.Opening
			n.Value.Multiline = true
		case n.Element && n.Field.Value.Kind == pbtxt.List:
			at = &n.Value.Trailing
		}
		mark := pbtxt.Comment{Text: "# added: " + reason}
		if *at == nil {
			*at = &mark
		} else {
			n.Field.Leading = append(n.Field.Leading, mark)
		}
		return true
	})
}
